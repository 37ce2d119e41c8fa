"""A node's file whose coins are in a log: both of them held, and the log where it has to be."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cdb.chia.log import Log, catch_up, tip_up_to
from cdb.chia.node_database import operations_of
from cdb.chia.operation import Tip
from cdb.coins import MAX_U32
from cdb.disk.paths import located
from cdb.errors import WrongDatabaseError
from cdb.migrate.migration import opened_log
from cdb.migrate.node_file import Keeper, alone_with, check_log, keeper_of


@dataclass(frozen=True, slots=True)
class Activated:
    """tip: the newest block of the log."""

    path: Path
    connection: sqlite3.Connection
    log: Log
    log_path: Path
    tip: Tip


@contextmanager
def active_file(given: str | PathLike[str]) -> Iterator[tuple[sqlite3.Connection, Path]]:
    """The file alone, while nobody else has it, and where it is.

    given: the file's path, as it was. Raises DatabaseLockedError while a node runs, and
    WrongDatabaseError for a file whose coins are in its own table.
    """
    path = located(given, read_only=False)
    with alone_with(given) as connection:
        if keeper_of(connection, path) is Keeper.NODE:
            raise WrongDatabaseError(path, "its coins are in its own table; nothing to do")
        yield connection, path


@contextmanager
def with_log(connection: sqlite3.Connection, path: Path) -> Iterator[Activated]:
    """An active file, and its log, which nobody else has meanwhile.

    Raises WrongDatabaseError where the log is not there, or is another's.
    """
    log_path = check_log(connection, path)
    rows = operations_of(connection, path)
    with closing(opened_log(log_path)) as log:
        catch_up(log, log_path, path, rows)
        yield Activated(path, connection, log, log_path, tip_up_to(log, log_path, MAX_U32))


@contextmanager
def activated(given: str | PathLike[str]) -> Iterator[Activated]:
    """Both, the file as active_file() has it."""
    with active_file(given) as (connection, path), with_log(connection, path) as held:
        yield held
