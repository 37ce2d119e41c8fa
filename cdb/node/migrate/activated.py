"""A node's file whose coins are in a log: both of them held, and the log where it has to be."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path

from cdb.contract.coins import MAX_U32
from cdb.disk.paths import located
from cdb.errors import WrongDatabaseError
from cdb.node.log import Log, catch_up, fitting_effect, log_path_of, tip_up_to
from cdb.node.lost_log import check_first, log_needed
from cdb.node.migrate.migration import opened_log
from cdb.node.migrate.node_file import Keeper, alone_with, keeper_of
from cdb.node.node_database import is_unused, operations_of
from cdb.node.operation import Tip


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

    Raises as log_needed() does.
    """
    log_path = log_path_of(path)
    with ExitStack() as held:
        with log_needed(log_path, path, lambda: is_unused(connection)):
            rows = operations_of(connection, path)
            fits = partial(fitting_effect, path=log_path, file=path, rows=rows)
            check_first(log_path, fits)
            log = held.enter_context(closing(opened_log(log_path)))
            catch_up(log, log_path, path, rows)
            tip = tip_up_to(log, log_path, MAX_U32)
        yield Activated(path, connection, log, log_path, tip)


@contextmanager
def activated(given: str | PathLike[str]) -> Iterator[Activated]:
    """Both, the file as active_file() has it."""
    with active_file(given) as (connection, path), with_log(connection, path) as held:
        yield held
