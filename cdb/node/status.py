"""How a node's database is: its file and its coins, what is kept for both, and what is wrong.

The coins are read first and the file second, while its rows are kept: so the file has what a
running node does between the two.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from os import PathLike
from pathlib import Path

from cdb.disk.paths import located
from cdb.errors import (
    CdbError,
    DatabaseClosedError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.extensions import installed_version
from cdb.node.backup.directory import size_bytes
from cdb.node.kept_rows import are_kept, rows_kept
from cdb.node.log import RESTORE, fitting_effect, log_path_of
from cdb.node.lost_log import advice_for_log, beyond_repair, log_needed
from cdb.node.migrate.migration_file import remove_copy
from cdb.node.node_database import (
    TABLES,
    Coins,
    Peak,
    coins_of,
    is_unused,
    operations_of,
    peak_of,
)
from cdb.node.operation import Effect, Operation
from cdb.schemas import coin_log
from cdb.stores.node_table.table import LOG_SUFFIX
from cdb.stores.rows.snapshot import Snapshot

_TRIES = 5
_ACKED_FILE = "acked"
"""Of a coin log: each flush writes it."""


@dataclass(frozen=True, slots=True)
class FileState:
    """What the SQLite file says. heights: the lowest and the newest of the blocks in cdb_ops.
    is_unused: whether chia's own table, put aside, still has all coins."""

    coins: Coins
    peak: Peak | None = None
    n_rows: int = 0
    heights: tuple[int, int] | None = None
    is_unused: bool = False


@dataclass(slots=True)
class Status:
    """Of one node's database; sizes in bytes, None where nothing is.

    log_height: the newest block of the log; next_height: the same once the rows are applied, where
    they can be. log_error: why the log is not that of the file. problems: what is wrong, a line
    each; none where all is well.
    """

    path: Path
    log_path: Path
    file: FileState
    log_height: int | None = None
    next_height: int | None = None
    last_flush: datetime | None = None
    is_backup_running: bool = False
    file_bytes: int | None = None
    wal_bytes: int | None = None
    log_bytes: int | None = None
    log_error: CdbError | None = None
    problems: list[str] = field(default_factory=list)


def status_of(file: str | PathLike[str]) -> Status:
    """Look at a node's file, and at its coins. Raises DatabaseError where the file can't be read.

    What is wrong with the coins is one of the problems.
    """
    path = located(file, read_only=True)
    log_path = log_path_of(path)
    if log_path.is_dir():
        is_backup_running = are_kept(log_path)
        with rows_kept(log_path):
            status = _looked(path, log_path)
        status.is_backup_running = is_backup_running
        status.log_bytes = size_bytes(log_path)
        status.last_flush = _changed_at(log_path / _ACKED_FILE)
    else:
        status = _look(path, log_path)
    if status.log_error is not None:
        status.problems.append(str(status.log_error))
    if status.file.coins in (Coins.LOST, Coins.NOWHERE):
        status.problems.append(f"{path}: its coins are {status.file.coins.value}")
    status.file_bytes, status.wal_bytes = _size(path), _size(path.with_name(path.name + "-wal"))
    return status


def check_log(file: Path) -> None:
    """Raise what keeps anybody from the log of a file; a node may run. See log_needed()."""
    error = status_of(file).log_error
    if error is not None:
        raise error


@contextmanager
def damage_explained(file: Path) -> Iterator[None]:
    """What reads the log of a file: damage that it meets is raised with the advice that helps."""
    with advice_for_log(log_path_of(file), file, partial(_is_unused, file)):
        yield


def help_with_log(log_path: Path) -> str | None:
    """What helps with damage to a log that nothing repairs; None where it is no node's."""
    file = log_path.with_name(log_path.name.removesuffix(LOG_SUFFIX))
    if file == log_path or not file.is_file():
        return None
    with suppress(CdbError):
        state, _ = _state_of(file)
        if state.coins is Coins.IN_TABLE:
            return remove_copy(log_path)
        if state.coins is Coins.IN_LOG:
            return beyond_repair(file, is_unused=state.is_unused)
    return None


def versions() -> dict[str, str | None]:
    """Of cdb, chia-blockchain and SQLite; None of what is not installed."""
    return {
        "cdb": installed_version(),
        "chia-blockchain": installed_version("chia-blockchain"),
        "sqlite": sqlite3.sqlite_version,
    }


def _looked(path: Path, log_path: Path) -> Status:
    """Both, the log first; again where that was rewound meanwhile."""
    for _ in range(_TRIES - 1):
        with suppress(DatabaseClosedError):
            return _look(path, log_path)
    return _look(path, log_path)


def _look(path: Path, log_path: Path) -> Status:
    with ExitStack() as held:
        needed = partial(log_needed, log_path, path, partial(_is_unused, path))
        log, error = None, None
        try:
            with needed():
                log = held.enter_context(coin_log.indexed(log_path, read_only=True))
        except CdbError as found:
            error = found
        state, rows = _state_of(path)
        status = Status(path, log_path, state)
        if log is None and state.coins in (Coins.IN_LOG, Coins.LOST):
            status.log_error = error
        if log is None or state.coins is not Coins.IN_LOG:
            return status
        try:
            with needed():
                status.log_height = log.last_block_index
                effect = fitting_effect(log, log_path, path, rows)
        except DatabaseClosedError:
            raise
        except CdbError as found:
            status.log_error = found
            return status
        _hold_against_peak(status, effect)
        return status


def _hold_against_peak(status: Status, effect: Effect) -> None:
    """Tell where the coins will be, and whether that is where the node is."""
    newest = effect.blocks[-1].height if effect.blocks else effect.tip.height
    status.next_height = newest if newest >= 0 else None
    peak = status.file.peak
    if peak is not None and peak.transaction_height != max(newest, 0):
        told = f"the newest transaction block is {peak.transaction_height}"
        problem = f"{told}, and the newest of the coins is {newest}"
        status.problems.append(str(WrongDatabaseError(status.path, problem, RESTORE)))


def _is_unused(path: Path) -> bool:
    return _state_of(path)[0].is_unused


def _state_of(path: Path) -> tuple[FileState, list[Operation]]:
    with Snapshot(path, TABLES) as snapshot, snapshot.reading():
        coins = coins_of(snapshot.connection)
        if coins is Coins.NOWHERE:
            return FileState(coins), []
        peak = peak_of(snapshot.connection, path)
        if coins is not Coins.IN_LOG:
            return FileState(coins, peak), []
        is_whole = is_unused(snapshot.connection)
        with advice_for_log(log_path_of(path), path, lambda: is_whole):
            rows = operations_of(snapshot.connection, path)
    kept = [row.height for row in rows if row.block is not None]
    heights = (min(kept), max(kept)) if kept else None
    return FileState(coins, peak, len(rows), heights, is_whole), rows


def _size(path: Path) -> int | None:
    return size_bytes(path) if path.exists() else None


def _changed_at(path: Path) -> datetime | None:
    with storage_errors(path):
        if not path.exists():
            return None
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
