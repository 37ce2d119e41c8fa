"""A node's file whose coins are in a log: both of them held, and the log where it has to be."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cdb.chia.log import RESTORE, Log, catch_up, log_path_of, tip_up_to
from cdb.chia.node_database import operations_of
from cdb.chia.operation import Tip
from cdb.coins import MAX_U32
from cdb.disk.paths import located
from cdb.errors import WrongDatabaseError
from cdb.migrate.migration import opened_log
from cdb.migrate.node_file import Keeper, alone_with, keeper_of


@dataclass(frozen=True, slots=True)
class Activated:
    """tip: the newest block of the log. number: of the newest row of cdb_ops."""

    path: Path
    connection: sqlite3.Connection
    log: Log
    log_path: Path
    tip: Tip
    number: int


@contextmanager
def activated(given: str | PathLike[str]) -> Iterator[Activated]:
    """The file and its log, while nobody else has them.

    given: the file's path, as it was. Raises DatabaseLockedError while a node runs, and
    WrongDatabaseError for a file whose coins are in its own table, or whose log is another's.
    """
    path = located(given, read_only=False)
    with alone_with(given) as connection:
        if keeper_of(connection, path) is Keeper.NODE:
            raise WrongDatabaseError(path, "its coins are in its own table; nothing to do")
        log_path = log_path_of(path)
        if not log_path.exists():
            raise WrongDatabaseError(log_path, f"the coins of {path} are not there", RESTORE)
        rows = operations_of(connection, path)
        with closing(opened_log(log_path)) as log:
            catch_up(log, log_path, path, rows)
            tip = tip_up_to(log, log_path, MAX_U32)
            yield Activated(path, connection, log, log_path, tip, rows[-1].number)
