"""The full node's table as a schema: ours is made and written, a node's own file only read."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from os import PathLike
from pathlib import Path

from cdb.contract.durability import Durability
from cdb.contract.printable import shell_word
from cdb.contract.progress import Progress
from cdb.contract.schema import Schema
from cdb.disk.damage import Damage
from cdb.disk.files import SQLITE_MAGIC
from cdb.disk.home import Format, Lock, anothers, format_at, writers_kept_out
from cdb.disk.paths import first_bytes, located
from cdb.errors import CorruptDatabaseError, WrongDatabaseError, storage_errors, wrong_version
from cdb.front.history import ViewHistory
from cdb.front.offers import Keyed
from cdb.stores.node_table.file import NodeRows
from cdb.stores.node_table.keys import KeyedRows, has_indexes
from cdb.stores.node_table.table import (
    COIN_TABLE,
    FORMAT_TABLE,
    FORMAT_VERSION,
    INDEX_SETS,
    KEPT_COLUMN,
    LOG_SUFFIX,
    NODE_VERSION,
    TABLES,
    VERSION_TABLE,
    NodeNames,
    NodeTable,
)
from cdb.stores.rows.check import check_rows
from cdb.stores.rows.coin_rows import CoinRows
from cdb.stores.rows.opening import CoinStore
from cdb.stores.rows.snapshot import Snapshot, check_not_emptied
from cdb.stores.rows.sqlite import (
    check_files,
    columns_of,
    integrity_problems,
    tables_of,
    undo_unfinished_making,
)
from cdb.text.replay_file import version_of

_SELECT_FORMAT = f"SELECT version, index_set FROM {FORMAT_TABLE}"


class KeyedStore(CoinStore, Keyed):
    """A store over the node's table with all of the node's indexes."""

    _backend: KeyedRows


class NodeFile(ViewHistory):
    """A node's own file, which is only read."""

    _backend: NodeRows


class KeyedNodeFile(NodeFile, Keyed):
    """The same with all of the node's indexes."""

    _backend: NodeRows


def blockchain_v2(
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    index_set: str = "benchmark",
) -> Schema:
    """Open or create a database; a node's own only with read_only.

    index_set: the indexes of a database that is created; an existing one keeps its own.
    """
    path = located(path, read_only=read_only)
    _check_kind(path)
    check_not_emptied(path)
    if read_only:
        if _is_nodes_own(path):
            return _open_nodes_own(path)
        return _open_own(path, durability, _own_index_set(path) or index_set, read_only=True)
    check_files(path, read_only=False)
    if path.exists():
        undo_unfinished_making(path)
        if _is_nodes_own(path):
            problem = "this is a node's own database, which cdb only reads; name another path"
            raise WrongDatabaseError(path, problem)
        index_set = _own_index_set(path) or index_set
    return _open_own(path, durability, index_set, read_only=False)


def format_of(path: Path) -> Format | None:
    """See FormatOf: an SQLite file with a node's coin table, of ours or of a node."""
    with storage_errors(path):
        if first_bytes(path, len(SQLITE_MAGIC)) != SQLITE_MAGIC:
            return None
    path = located(path, read_only=True)
    _check_coins_are_here(path)
    with Snapshot(path, TABLES) as snapshot, snapshot.reading():
        tables = tables_of(snapshot.connection)
        if COIN_TABLE not in tables:
            return None
        if FORMAT_TABLE in tables:
            version, index_set = snapshot.connection.execute(_SELECT_FORMAT).fetchone()
            return Format("blockchain_v2", version, f"index_set={index_set}")
    return Format("blockchain_v2", NODE_VERSION, "made_by=node") if _is_nodes_own(path) else None


def check(path: Path, progress: Progress) -> Iterator[Damage]:
    """Damage to the one file; nothing repairs it. Of a node's own, what SQLite can tell."""
    path = located(path, read_only=True)
    _check_kind(path)
    if _is_nodes_own(path):
        with Snapshot(path, TABLES) as snapshot:
            with snapshot.reading():
                problems = integrity_problems(snapshot.connection)
            yield from (Damage(path, problem) for problem in problems)
        return
    with writers_kept_out(_lock_path(path), path):
        table = NodeTable(_own_index_set(path) or "benchmark")
        with closing(CoinRows(path, table, Durability.POWER, read_only=True)) as rows:
            yield from check_rows(rows, progress)


def _open_own(path: Path, durability: Durability, index_set: str, *, read_only: bool) -> CoinStore:
    with ExitStack() as held:
        release = check_lock = _nothing
        if not read_only:
            lock = Lock(_lock_path(path), path)
            # What lets go of it may be called again: the first call may be interrupted.
            release, check_lock = lock.release, lock.check_in_place
        held.callback(release)
        rows = CoinRows(path, NodeTable(index_set), durability, read_only=read_only)
        held.callback(rows.close)
        with rows.read.reading():
            kind = KeyedStore if has_indexes(rows.connection) else CoinStore
        backend = KeyedRows(rows, NodeNames(rows.connection, path))
        store = kind(path, backend, release, read_only=read_only, check_place=check_lock)
        held.pop_all()
        return store


def _nothing() -> None:
    pass


def _open_nodes_own(path: Path) -> NodeFile:
    with Snapshot(path, TABLES) as snapshot, snapshot.reading():
        kind = KeyedNodeFile if has_indexes(snapshot.connection) else NodeFile
    return kind(path, NodeRows(path), read_only=True)


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _check_kind(path: Path) -> None:
    """Raise WrongDatabaseError for a directory."""
    with storage_errors(path):
        is_directory = path.is_dir()
    found = format_at(path) if is_directory else None
    if found is not None:
        raise anothers(path, found.schema, "blockchain_v2")
    if is_directory:
        problem = "this is a directory, and a database of blockchain_v2 is a file"
        raise WrongDatabaseError(path, problem)


@contextmanager
def _others_told(path: Path) -> Iterator[None]:
    """Make WrongDatabaseError of what SQLite says of another schema's file. One of SQLite's is not
    looked into: the end of that would release all locks that this process has on it."""
    try:
        yield
    except CorruptDatabaseError as error:
        code = getattr(error.__cause__, "sqlite_errorcode", None)
        if code == sqlite3.SQLITE_NOTADB and version_of(path) is not None:
            raise anothers(path, "memory", "blockchain_v2") from None
        raise


def _check_coins_are_here(path: Path) -> None:
    """Raise WrongDatabaseError for a node's file whose coins cdb.chia keeps in a coin log."""
    with _others_told(path), Snapshot(path, {}) as snapshot, snapshot.reading():
        is_kept = KEPT_COLUMN in columns_of(snapshot.connection, COIN_TABLE)
    if is_kept:
        log = f"{path}{LOG_SUFFIX}"
        advice = f"use coin_log with --db {shell_word(log)}"
        raise WrongDatabaseError(path, f"its coins are in {log}; {advice}")


def _is_nodes_own(path: Path) -> bool:
    _check_coins_are_here(path)
    with Snapshot(path, TABLES) as snapshot, snapshot.reading():
        tables = tables_of(snapshot.connection)
        if COIN_TABLE not in tables or FORMAT_TABLE in tables:
            return False
        versions = [1]
        if VERSION_TABLE in tables:
            query = f"SELECT version FROM {VERSION_TABLE}"
            versions = [version for (version,) in snapshot.connection.execute(query)]
        if versions != [NODE_VERSION]:
            problem = f"a node's database of version {versions}, and cdb reads {NODE_VERSION}"
            raise WrongDatabaseError(path, problem)
        return True


def _own_index_set(path: Path) -> str | None:
    """The index set of a database that cdb made; None where a file has no tables yet."""
    with Snapshot(path, TABLES) as snapshot, snapshot.reading():
        tables = tables_of(snapshot.connection)
        if not tables:
            return None
        if FORMAT_TABLE not in tables:
            problem = "this SQLite file is not a blockchain_v2 database; name a new path"
            raise WrongDatabaseError(path, problem)
        version, index_set = snapshot.connection.execute(_SELECT_FORMAT).fetchone()
    if version != FORMAT_VERSION:
        raise wrong_version(path, f"blockchain_v2 {version}", f"blockchain_v2 {FORMAT_VERSION}")
    if index_set not in INDEX_SETS:
        raise wrong_version(path, f"with indexes {index_set}", " or ".join(INDEX_SETS))
    return str(index_set)
