"""A log-structured merge tree from coin names to row ids: sorted immutable runs and a manifest.

    index/
    ├── manifest              which runs there are, and the watermark (see manifest.py)
    ├── run-0316050208.flat   the names of rows 1 … 2,000,000, sorted
    └── run-0788123751.flat   those of the next 250,000 rows

The store's memtable comes in as one run of tier 0. FAN_IN runs of one tier become one run of the
next tier, so a name is written once a tier: write amplification is at most 1 + log(number of
writes, base FAN_IN). Each write makes one file, merges included, and is done once the new manifest
is: a crash before that costs this write, a crash after it nothing.

Runs are made in row order and merged with their neighbours only, so each holds a contiguous
interval of rows, and a rewind changes nothing but the manifest.

What survives: with Durability.POWER and PROCESS, files are fsynced before the manifest that names
them, and old ones are removed after it; without, a power cut could leave an index that is damaged.
NONE fsyncs nothing: the death of the process costs nothing either, power loss may cost the index.
"""

import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from operator import add
from pathlib import Path

from cdb.contract.coins import NAME_BYTES
from cdb.contract.durability import Durability
from cdb.disk.files import fsync_dir, fsync_file, make_dir, publish, temporary
from cdb.disk.sharing import Guard
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseNotFoundError,
    StorageError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.stores.rows.index import Watermark
from cdb.stores.rows.lsm.filter import probes
from cdb.stores.rows.lsm.manifest import (
    MANIFEST_NAME,
    RUN_PREFIX,
    Manifest,
    read_manifest,
    write_manifest,
)
from cdb.stores.rows.lsm.search import ROW_BYTES, Run, RunFormat, live_pages, live_row, merged

OPEN_TRIES = 10


class LsmIndex:
    """A NameIndex of runs in one directory, which is created where it is missing.

    One writer at a time; that is for the caller to ensure, and so is that threads take turns.
    read_only: the index as it was when it was opened, whatever a writer does meanwhile; nothing
    on disk is touched.
    """

    def __init__(
        self,
        path: Path,
        run_format: RunFormat,
        *,
        durability: Durability,
        read_only: bool = False,
    ) -> None:
        self._path = path
        self._format = run_format
        self._durable = durability is not Durability.NONE
        self._read_only = read_only
        self._guard = Guard(path)
        if not read_only:
            self._create()
        self._manifest, self._runs = self._open()
        if not read_only:
            try:
                self._sync()
                self._remove_strays()
            except BaseException:
                self.close()
                raise

    @property
    def covered(self) -> Watermark:
        """See NameIndex."""
        return self._manifest.covered

    @property
    def is_settled(self) -> bool:
        """See KnowsIfSettled: each write does the merges that it makes due."""
        return True

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """See NameIndex. Costs a filter test per run and name, and a search where it passes."""
        self._guard.check()
        _check_lengths(names)
        rows: list[int | None] = [None] * len(names)
        pending = probes(names)
        for entry, run in zip(self._manifest.runs[::-1], self._runs[::-1], strict=True):
            for place in run.filter.passing(pending):
                rows[place] = live_row(names[place], entry, run)
            pending = [probe for probe in pending if rows[probe[0]] is None]
        return rows

    def write(self, names: Sequence[bytes], covered: Watermark) -> None:
        """See NameIndex. Merges happen here, so some calls take far longer than others."""
        self._check_writable()
        new = _sorted_records(names, range(self.covered.rows + 1, covered.rows + 1))
        if not new:
            return
        with self._guard.write(), ExitStack() as unwinding:
            manifest = self._manifest.with_new_run(covered)
            kept = len(manifest.runs) - 1
            old = map(live_pages, self._manifest.runs[kept:], self._runs[kept:])
            run = self._write_run(manifest, merged([*old, iter([new])]))
            unwinding.callback(run.close)
            self._commit(manifest, [*self._runs[:kept], run])
            unwinding.pop_all()

    def rewind(self, covered: Watermark, dropped: Iterator[bytes]) -> None:
        """See NameIndex. Costs one manifest, whatever the depth; dropped is not read."""
        self._check_writable()
        if covered.rows >= self.covered.rows:
            return
        with self._guard.write():
            manifest = self._manifest.rewound(covered)
            self._commit(manifest, self._runs[: len(manifest.runs)])

    def settle(self) -> None:
        """See NameIndex. Nothing: each write does the merges that it makes due."""

    def check(self) -> None:
        """See NameIndex."""
        for entry, run in zip(self._manifest.runs, self._runs, strict=True):
            for _ in live_pages(entry, run):
                pass

    def close(self) -> None:
        """See NameIndex. All is durable already."""
        self._guard.closed = True
        for run in self._runs:
            run.close()

    def _check_writable(self) -> None:
        self._guard.check()
        if self._read_only:
            raise DatabaseClosedError(
                self._path, "it is open for reading only; open it for writing"
            )

    def _create(self) -> None:
        make_dir(self._path, durable=self._durable)
        with storage_errors(self._path):
            files = {path.name for path in self._path.iterdir()}
        if MANIFEST_NAME in files:
            return
        # The first manifest comes before the first run, so runs without one have lost it.
        if any(name.startswith(RUN_PREFIX) for name in files):
            raise CorruptDatabaseError(self._path / MANIFEST_NAME, "the manifest is missing")
        write_manifest(self._path, Manifest(self._format.name), durable=self._durable)

    def _open(self) -> tuple[Manifest, list[Run]]:
        """The newest manifest and its runs.

        A run that can't be opened is damage, unless the manifest has changed meanwhile: then a
        writer has merged it away.
        """
        manifest = read_manifest(self._path)
        for _ in range(OPEN_TRIES):
            try:
                return manifest, self._open_runs(manifest)
            except (DatabaseNotFoundError, CorruptDatabaseError, StorageError) as error:
                newer = read_manifest(self._path)
                if newer == manifest:
                    if not isinstance(error, DatabaseNotFoundError):
                        raise
                    raise CorruptDatabaseError(Path(error.path), "this run is missing") from error
                manifest = newer
        raise StorageError(self._path, "it changes too fast to be opened; try again")

    def _open_runs(self, manifest: Manifest) -> list[Run]:
        if manifest.run_format != self._format.name:
            problem = f"an index of {manifest.run_format} runs, not of {self._format.name} runs"
            raise WrongDatabaseError(self._path, problem)
        runs = []
        with ExitStack() as opened:
            for entry in manifest.runs:
                runs.append(self._format.open(self._path / manifest.file_name(entry), entry))
                opened.callback(runs[-1].close)
            opened.pop_all()
        return runs

    def _write_run(self, manifest: Manifest, records: Iterable[bytes]) -> Run:
        """Write the manifest's newest run, under its name and as durable as can be."""
        entry = manifest.runs[-1]
        path = self._path / manifest.file_name(entry)
        self._format.write(temporary(path), entry, records)
        publish(path, durable=self._durable)
        return self._format.open(path, entry)

    def _commit(self, manifest: Manifest, runs: list[Run]) -> None:
        """Make this the state of the index, then remove what it no longer needs."""
        write_manifest(self._path, manifest, durable=self._durable)
        dropped = [run for run in self._runs if run not in runs]
        self._manifest, self._runs = manifest, runs
        for run in dropped:
            run.close()
        for run in dropped:
            with storage_errors(run.path):
                run.path.unlink()

    def _sync(self) -> None:
        """Who wrote it before may have promised less."""
        if self._durable:
            for run in self._runs:
                fsync_file(run.path)  # fault: runs-of-before-not-synced
            fsync_file(self._path / MANIFEST_NAME)  # fault: manifest-of-before-not-synced
            fsync_dir(self._path)

    def _remove_strays(self) -> None:
        """Remove the files of writes that a crash cut short."""
        named = {run.path.name for run in self._runs}
        with storage_errors(self._path):
            for path in list(self._path.iterdir()):
                unnamed_run = path.name.startswith(RUN_PREFIX) and path.name not in named
                if unnamed_run or path == temporary(self._path / MANIFEST_NAME):
                    path.unlink()


def _sorted_records(names: Sequence[bytes], rows: range) -> list[bytes]:
    """The records of these rows' names, sorted. Raises ValueError where they can't be that."""
    _check_lengths(names)
    if len(names) != len(rows):
        raise ValueError(f"{len(names)} names are not those of rows {rows.start} … {rows.stop - 1}")
    if len(set(names)) < len(names):
        raise ValueError("a name is there twice")
    row_ids = array("Q", rows)
    if sys.byteorder == "big":
        row_ids.byteswap()
    return sorted(map(add, names, struct.unpack(f"{ROW_BYTES}s" * len(rows), row_ids.tobytes())))


def _check_lengths(names: Sequence[bytes]) -> None:
    if not {NAME_BYTES}.issuperset(map(len, names)):
        raise ValueError(f"names have {NAME_BYTES} bytes")
