"""The manifest: the one file that says which runs an index consists of, and how far it reaches.

A text file of two parts. The first line is ``sha256`` and the hexadecimal SHA-256 of all that
follows it; the rest is JSON:

    format       "cdb-lsm"
    version      1; later versions keep the first line, format and version, so that a reader can
                 tell a newer index from a damaged one
    run_format   "flat" or "sqlite"
    rows         the watermark: rows 1 … rows are in the runs,
    last_name    and this is their tie (hexadecimal; see Watermark)
    next_number  the least number of the next run file; it takes a random one above that, by which
                 it is known: copies of an index may go on, each in its own way
    runs         oldest first; each holds the rows first_row … last_row, which follow on the
                 previous run's, in a file of count records for first_row … first_row + count - 1
                 (more than last_row after a rewind), and has a tier; number 7 of format "flat"
                 is the file run-0000000007.flat
"""

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cdb.contract.coins import NAME_BYTES
from cdb.disk.files import replace_file
from cdb.disk.paths import read_own
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseNotFoundError,
    storage_errors,
    wrong_version,
)
from cdb.stores.rows.index import EMPTY, Watermark

MANIFEST_NAME = "manifest"
RUN_PREFIX = "run-"
FORMAT = "cdb-lsm"
VERSION = 1
_GAP = 1 << 30
FAN_IN = 8  # 4 costs as much time, with shorter merges, but writes a fifth more


@dataclass(frozen=True)
class RunEntry:
    """One run, as the manifest names it."""

    number: int
    first_row: int
    last_row: int
    count: int
    tier: int

    @property
    def file_last_row(self) -> int:
        """The newest row in the file. Those above last_row were rewound and don't count."""
        return self.first_row + self.count - 1


@dataclass(frozen=True)
class Manifest:
    """What one version of the manifest says."""

    run_format: str
    covered: Watermark = EMPTY
    next_number: int = 1
    runs: tuple[RunEntry, ...] = ()

    def with_new_run(self, covered: Watermark) -> "Manifest":
        """With one more run, of the rows up to covered and of the runs that it is merged with.

        These are the newest FAN_IN - 1 of tier 0, then likewise those of tier 1, and so on.
        """
        tiers = [run.tier for run in self.runs]  # oldest first, and never increasing
        merges = tier = 0
        while tiers.count(tier) >= FAN_IN - 1:
            merges += tiers.count(tier)
            tier += 1
        kept = self.runs[: len(self.runs) - merges]
        first_row = kept[-1].last_row + 1 if kept else 1
        count = covered.rows - first_row + 1
        number = self.next_number + secrets.randbelow(_GAP)
        run = RunEntry(number, first_row, covered.rows, count, tier)
        return Manifest(self.run_format, covered, number + 1, (*kept, run))

    def rewound(self, covered: Watermark) -> "Manifest":
        """Without the rows above covered.rows."""
        rows = covered.rows
        kept = (run for run in self.runs if run.first_row <= rows)
        runs = tuple(replace(run, last_row=min(run.last_row, rows)) for run in kept)
        return replace(self, covered=covered, runs=runs)

    def file_name(self, run: RunEntry) -> str:
        """The name of the run's file, in the manifest's directory."""
        return f"{RUN_PREFIX}{run.number:010}.{self.run_format}"


def write_manifest(directory: Path, manifest: Manifest, *, durable: bool) -> None:
    """Replace the directory's manifest atomically."""
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "run_format": manifest.run_format,
        "rows": manifest.covered.rows,
        "last_name": manifest.covered.tie.hex(),
        "next_number": manifest.next_number,
        "runs": [asdict(run) for run in manifest.runs],
    }
    body = json.dumps(fields, indent=1).encode() + b"\n"
    replace_file(directory / MANIFEST_NAME, _checksum(body) + body, durable=durable)


def read_manifest(directory: Path) -> Manifest:
    """The directory's manifest, checked.

    Raises DatabaseNotFoundError, CorruptDatabaseError, WrongDatabaseError (a newer version).
    """
    path = directory / MANIFEST_NAME
    with storage_errors(path):
        text = read_own(path)
    if text is None:
        raise DatabaseNotFoundError(path, "there is no manifest")
    head, newline, body = text.partition(b"\n")
    if head + newline != _checksum(body):
        raise CorruptDatabaseError(path, "the manifest does not match its checksum")
    try:
        return _parse(path, json.loads(body))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise CorruptDatabaseError(path, f"the manifest makes no sense: {error!r}") from error


def _checksum(body: bytes) -> bytes:
    return f"sha256 {hashlib.sha256(body).hexdigest()}\n".encode()


def _parse(path: Path, fields: dict[str, Any]) -> Manifest:
    found, known = f"{fields['format']} {fields['version']}", f"{FORMAT} {VERSION}"
    if found != known:
        raise wrong_version(path, found, known)
    manifest = Manifest(
        run_format=fields["run_format"],
        covered=Watermark(fields["rows"], bytes.fromhex(fields["last_name"])),
        next_number=fields["next_number"],
        runs=tuple(RunEntry(**run) for run in fields["runs"]),
    )
    _check(manifest)
    return manifest


def _check(manifest: Manifest) -> None:
    """Raise ValueError unless the runs hold rows 1 … rows, each row once."""
    numbers = [number for run in manifest.runs for number in asdict(run).values()]
    numbers += [manifest.covered.rows, manifest.next_number]
    if not all(type(number) is int and 0 <= number < 2**63 for number in numbers):
        raise ValueError("a number is none, or out of its range")
    rows = 0
    for run in manifest.runs:
        follows = run.first_row == rows + 1 <= run.last_row <= run.file_last_row
        if not (follows and 0 < run.number < manifest.next_number):
            raise ValueError(f"run {run.number} is out of place")
        rows = run.last_row
    if rows != manifest.covered.rows:
        raise ValueError(f"the runs end at row {rows}, not at row {manifest.covered.rows}")
    if len(manifest.covered.tie) != (NAME_BYTES if rows else 0):
        raise ValueError("last_name has a wrong length")
