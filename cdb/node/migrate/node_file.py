"""A node's file: what is in it, and the right to be alone with it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from enum import Enum
from os import PathLike
from pathlib import Path

from cdb.disk.files import fsync_dir
from cdb.disk.paths import located
from cdb.errors import DatabaseLockedError, WrongDatabaseError
from cdb.node import own_tables
from cdb.node.ops_table import OPS_TABLE
from cdb.node.service import RUNNING, service_stopped
from cdb.stores.node_table.keys import has_indexes
from cdb.stores.node_table.table import (
    COIN_TABLE,
    FORMAT_TABLE,
    KEPT_COLUMN,
    NODE_COLUMNS,
    NODE_INDEXES,
    NODE_VERSION,
    TABLES,
    VERSION_TABLE,
)
from cdb.stores.rows.sqlite import (
    PAGE_CACHE_BYTES,
    check_tables,
    columns_of,
    open_uri,
    sqlite_errors,
    tables_of,
)

MARKED_INDEX = "coin_record_ph_ff_unspent_idx"
"""A node's own, of marked coins alone: only those have it that were made lately."""


class Keeper(Enum):
    """Who keeps the coins of a node's file."""

    NODE = "chia's own table"
    LOG = "a coin log"


def keeper_of(connection: sqlite3.Connection, path: Path) -> Keeper:
    """Who keeps the coins. Raises WrongDatabaseError for a file that is no node's, and
    CorruptDatabaseError for one with views, triggers or the like in the place of its tables."""
    tables = tables_of(connection)
    own_tables.check(connection.execute(own_tables.SELECT), path)
    if FORMAT_TABLE in tables:
        raise WrongDatabaseError(path, "cdb load_blocks made this database; name a full node's own")
    if COIN_TABLE not in tables or VERSION_TABLE not in tables:
        raise WrongDatabaseError(path, "this is not a full node's own database; name one")
    versions = connection.execute(f"SELECT version FROM {VERSION_TABLE}").fetchall()
    if versions != [(NODE_VERSION,)]:
        problem = f"a node's database of version {versions}, and cdb reads {NODE_VERSION}"
        raise WrongDatabaseError(path, problem)
    [(encoding,)] = connection.execute("PRAGMA encoding")
    if encoding != "UTF-8":  # SQLite would recode the blobs that it joins
        raise WrongDatabaseError(path, f"its texts are in {encoding}, and a node's in UTF-8")
    columns = columns_of(connection, COIN_TABLE)
    is_marked = KEPT_COLUMN in columns
    if is_marked != (OPS_TABLE in tables):
        raise WrongDatabaseError(path, "only some of its tables are a node's; see what made it")
    if is_marked:
        return Keeper.LOG
    if others := own_tables.NAMES & tables:
        problem = f"its table {min(others)} has a name that cdb needs; rename it"
        raise WrongDatabaseError(path, problem)
    if columns != NODE_COLUMNS.keys():
        more = sorted(columns - NODE_COLUMNS.keys())
        problem = "has a column that no node has" if more else "lacks a column"
        which = [*more, *sorted(NODE_COLUMNS.keys() - columns)][0]
        raise WrongDatabaseError(path, f"its table {COIN_TABLE} {problem}, {which}")
    indexes = {name for _, name, *_ in connection.execute(f"PRAGMA main.index_list({COIN_TABLE})")}
    lacking = sorted(NODE_INDEXES.keys() - indexes)
    if lacking or not has_indexes(connection):
        which = lacking[0] if lacking else "over the columns that a node's are over"
        problem = f"its table coin_record lacks an index, {which}; start the node once"
        raise WrongDatabaseError(path, problem)
    check_tables(connection, path, TABLES)
    return Keeper.NODE


@contextmanager
def alone_with(path: str | PathLike[str]) -> Iterator[sqlite3.Connection]:
    """A connection to a node's file that nobody else has open, nor can open, meanwhile.

    path: as it was given. Each commit is durable when it returns. Raises DatabaseLockedError while
    a node runs.
    """
    place = located(path, read_only=False)
    with service_stopped(path), closing(open_uri(place, "mode=rw")) as connection:
        with sqlite_errors(place):
            _take(connection, place)
            yield connection
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        fsync_dir(place.parent)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing of what is written in the block, also when the process is killed."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _take(connection: sqlite3.Connection, path: Path) -> None:
    # So SQLite takes the file's own lock, which anybody who has it open holds a part of.
    try:
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA synchronous = EXTRA")
        # Views, triggers and references of others go on naming coin_record, whichever table it is.
        connection.execute("PRAGMA legacy_alter_table = ON")
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute(f"PRAGMA cache_size = -{PAGE_CACHE_BYTES // 1024}")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise DatabaseLockedError(path, RUNNING) from error
        raise
