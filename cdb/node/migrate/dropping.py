"""Gives back the space of the table that activation has put aside."""

import os
import sqlite3
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cdb.contract.progress import StepBar
from cdb.disk.paths import located
from cdb.node.migrate.activated import activated
from cdb.node.migrate.migration import Plan, Tell, checked_plan
from cdb.node.migrate.node_file import MARKED_INDEX, transaction
from cdb.node.ops_table import OLD_TABLE
from cdb.node.own_tables import NEW_TABLE, NOTE_TABLE
from cdb.stores.rows.sqlite import quoted, tables_of

DROPPED_BYTES_A_SECOND = 100_000_000
_VACUUMED_BYTES_A_SECOND = 30_000_000


@dataclass(frozen=True, slots=True)
class Dropped:
    """Sizes of the file before and now; free_bytes: within it now, for VACUUM to give back."""

    path: Path
    file_bytes_before: int
    file_bytes: int
    free_bytes: int


def drop(path: str | PathLike[str], *, vacuum: bool = False, tell: Tell, bar: StepBar) -> Dropped:
    """Drop what a file has of coins in tables, once its log has proved to be the file's.

    vacuum: then have SQLite write the file again without what is free in it, in one step. Raises as
    activated() does, or StorageError. Killed in the middle, the same call goes on.
    """
    place = located(path, read_only=False)
    with activated(path) as held:
        connection = held.connection
        point_temporary_files_at(place.parent)
        tell(_plan(place, connection, vacuum=vacuum))
        before = _bytes_of(connection, "page_count")
        drop_tables(connection, bar, OLD_TABLE, NOTE_TABLE, NEW_TABLE)
        if vacuum:
            with bar("vacuum"):
                connection.execute("VACUUM")
        now, free = (_bytes_of(connection, each) for each in ("page_count", "freelist_count"))
        return Dropped(place, before, now, free)


def drop_tables(connection: sqlite3.Connection, bar: StepBar, *names: str) -> None:
    """Drop those of the tables that are there, an index at a time: a step is not too long."""
    for table in names:
        if table not in tables_of(connection):
            continue
        query = (
            "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql <> ''"
            " ORDER BY name = ?"
        )
        for (index,) in connection.execute(query, (table, MARKED_INDEX)).fetchall():
            with bar(f"drop {index}"), transaction(connection):
                connection.execute(f"DROP INDEX {quoted(index)}")
        with bar(f"drop {table}"), transaction(connection):
            connection.execute(f"DROP TABLE {table}")


def used_bytes(connection: sqlite3.Connection) -> int:
    """How much of the file is in use."""
    return _bytes_of(connection, "page_count") - _bytes_of(connection, "freelist_count")


def _plan(path: Path, connection: sqlite3.Connection, *, vacuum: bool) -> Plan:
    used = used_bytes(connection)
    seconds = used / DROPPED_BYTES_A_SECOND
    if not vacuum:
        return checked_plan(path, Plan.at(path, "drop", seconds, used // 500))
    # Twice what is left, which is less than what is used now: a copy, and the -wal.
    seconds += used / _VACUUMED_BYTES_A_SECOND
    return checked_plan(path, Plan.at(path, "drop and vacuum", seconds, 2 * used))


def point_temporary_files_at(directory: Path) -> None:
    """Have SQLite's temporary files where there is room for the database."""
    os.environ.setdefault("SQLITE_TMPDIR", os.fspath(directory))


def _bytes_of(connection: sqlite3.Connection, n_pages: str) -> int:
    """The size of so many pages as a pragma counts."""
    return _pragma(connection, n_pages) * _pragma(connection, "page_size")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)
