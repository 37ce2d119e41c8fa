"""Checks a coin log: the log by reading all of it, and what is derived from it by opening it.

Opening holds every derived file against its checksums. Where one fails, the log is opened without
them: then nothing but the log itself can be at fault.
"""

import re
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from cdb.coin_log.binding import CoinLog
from cdb.coins import MAX_U32
from cdb.damage import Damage, Progress
from cdb.durability import Durability
from cdb.errors import CorruptDatabaseError, storage_errors

LOG = "log"
ACKED = "acked"
DERIVED = "derived"
MANIFEST = "derived/manifest"
_RECORD = struct.Struct("<8x4sI12xI")  # magic, length, block index
_RECORD_MAGIC = b"CLR1"
_HISTORY_BYTES_OFFSET = 64
_RUN_COUNT_OFFSET = 176
_RUNS_OFFSET = 184
_MANIFEST_MAGIC_OFFSET = 8
_FORMER_MAGICS = (b"CLM1", b"CLM2")
_RUN_BYTES = 24
_damaged_at = re.compile(r"damaged at byte ([0-9]+)").match


def check_coin_log(path: Path, progress: Progress) -> Iterator[Damage]:
    """The first damage to derived files, and the first to the log. Nobody may write meanwhile."""
    try:
        with closing(_open(path)) as log:
            if log.acked_is_damaged:
                problem = "damaged" if (path / ACKED).exists() else "it is missing"
                yield Damage(path / ACKED, problem, LOG)
            yield from _missing_files(path)
            _read_all(log, progress)
    except CorruptDatabaseError as error:
        if path / DERIVED not in Path(error.path).parents:
            yield _log_damage(path, error)
            return
        yield Damage.of(error, LOG)
        yield from _check_log_alone(path)


def rebuild_derived(path: Path, damaged: list[Path]) -> None:
    """Remove damaged derived files; opening the log makes all of them anew from it.

    `acked` stays, for what of it is intact: opening mends it. Raises CorruptDatabaseError, and
    changes nothing, where the log is damaged.
    """
    with closing(_open(path, before_damage=True)) as log:
        log.check()
    for file in damaged:
        if path / DERIVED in file.parents:
            with storage_errors(file):
                file.unlink(missing_ok=True)
    CoinLog(path, durability=Durability.POWER, forgiving=True).close()


def _open(path: Path, *, before_damage: bool = False) -> CoinLog:
    return CoinLog(
        path,
        durability=Durability.POWER,
        read_only=True,
        forgiving=True,
        before_damage=before_damage,
    )


def _read_all(log: CoinLog, progress: Progress) -> None:
    for blocks in log.read(0, MAX_U32):
        progress(blocks.confirm_ends[-1])


def _check_log_alone(path: Path) -> Iterator[Damage]:
    """Damage to the log, where a derived file is damaged."""
    try:
        with closing(_open(path, before_damage=True)) as log:
            log.check()
    except CorruptDatabaseError as error:
        yield _log_damage(path, error)


def _missing_files(path: Path) -> Iterator[Damage]:
    """Opening makes up for missing files. Only what a crash could have cost is no damage."""
    if not (path / MANIFEST).exists():
        return
    files = _named_files((path / MANIFEST).read_bytes(), path / DERIVED)
    yield from (Damage(file, "it is missing", LOG) for file in files if not file.exists())


def _named_files(manifest: bytes, directory: Path) -> Iterator[Path]:
    if manifest.startswith(_FORMER_MAGICS, _MANIFEST_MAGIC_OFFSET):
        return  # nothing that it names counts any more
    (history_bytes,) = struct.unpack_from("<Q", manifest, _HISTORY_BYTES_OFFSET)
    if history_bytes:
        yield directory / "history"
    (count,) = struct.unpack_from("<I", manifest, _RUN_COUNT_OFFSET)
    for n in range(count):
        (number,) = struct.unpack_from("<Q", manifest, _RUNS_OFFSET + _RUN_BYTES * n)
        yield directory / f"run-{number:08}"


def _log_damage(path: Path, error: CorruptDatabaseError) -> Damage:
    """What an error says of the log, and which block is the last one before that place."""
    log = path / LOG
    problem = Damage.of(error).problem
    if match := _damaged_at(problem):
        newest = _newest_before(log, int(match[1]))
        after = "before the first block" if newest is None else f"behind block {newest}"
        problem = f"{problem}; {after}"
    return Damage(log, problem)


def _newest_before(log: Path, offset: int) -> int | None:
    """The index of the last record that begins before an offset, by the records' own lengths."""
    newest = None
    with storage_errors(log), log.open("rb") as file:
        at = 0
        while at < offset:
            file.seek(at)
            header = file.read(_RECORD.size)
            if len(header) < _RECORD.size:
                break
            magic, length, index = _RECORD.unpack(header)
            if magic != _RECORD_MAGIC or not length:
                break
            newest = index
            at += length
    return newest
