"""How cdb uses SQLite: connections, durability, errors, and what SQLite lacks."""

import os
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakSet

from cdb.contract.durability import Durability
from cdb.disk.files import fsync_dir
from cdb.disk.paths import check_file, first_bytes, fsync_open_file
from cdb.errors import (
    CdbError,
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseLockedError,
    DatabaseNotFoundError,
    StorageError,
    UnsupportedError,
    known_path,
    storage_errors,
)

# WAL + FULL loses nothing at a power cut; WAL + NORMAL loses the newest commits at a power cut, but
# none when only the process dies, and it never corrupts. docs/durability.md has the measurements.
_SYNCHRONOUS = {Durability.NONE: "OFF", Durability.PROCESS: "NORMAL", Durability.POWER: "FULL"}

# How a rollback journal begins; see SQLite's file format.
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_PAGES_BEFORE = slice(16, 20)

JOURNAL_SUFFIXES = ("-journal", "-wal")
"""Of what SQLite has beside a file, and reads: changes to it that may not be in it."""
SIDE_SUFFIXES = (*JOURNAL_SUFFIXES, "-shm")
"""Of all that SQLite has beside a file."""
SQLITE_NOT_DURABLE = ("*-shm",)
"""Its index of a -wal, which it makes again."""

PAGE_CACHE_BYTES = 64 * 2**20
# A B-tree page that many commits change is written once a checkpoint: so few checkpoints.
CHECKPOINT_PAGES = 16_384
MAX_LOOKUP_VARIABLES = 256
_LONGEST_PATH = 504
"""That most builds of SQLite open, in bytes: 512, less what they put behind it."""
_CANT_OPEN_ADVICE = "check its rights, and how many files may be open (ulimit -n)"
LOCK_WAIT_SECONDS = 1.0

# Numbers 0 … ?1 - 1, for ?1 > 0. A statement that takes its items out of one packed parameter, by
# substr, costs a third of a call of executemany with a tuple for each.
EACH = "WITH RECURSIVE each(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM each WHERE n + 1 < ?1)"
PART_BYTES = 4 * 2**20
"""A packed parameter's length: SQLite takes none above a limit, which is 10^9 or what it was built
with."""


Tables = Mapping[str, str | None]
"""By the names of tables, the columns that are their primary keys."""


def connect(path: Path, durability: Durability, tables: Tables) -> "Connection":
    """Open (or create) an SQLite file of ours for writing, with explicit transactions.

    tables: those that will be used, for check_tables().
    """
    try:
        connection = open_uri(path, "mode=rwc")
    except DatabaseNotFoundError as error:
        raise StorageError(path, f"it can't be made; {_CANT_OPEN_ADVICE}") from error
    try:
        with sqlite_errors(path):
            # Into WAL mode a new file comes by a rollback journal. EXTRA syncs the directory when
            # that goes: a power cut must not leave it beside a -wal.
            connection.execute("PRAGMA synchronous=EXTRA")  # fault: journal-left-beside-wal
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS[durability]}")
            connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA cache_size=-{PAGE_CACHE_BYTES // 1024}")
            connection.execute("PRAGMA cell_size_check=ON")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the -wal
            check_unmoved(connection, path)
            if durability is not Durability.NONE:
                # SQLite syncs the -wal's name too, but hides an error: an old -wal, removed at the
                # last close, could come back over what was written since.
                fsync_dir(path.parent)  # fault: rows-name-not-synced
                # What a killed process left in the -wal need not be synced, and what it could not
                # sync never will be: nothing is promised, or built on it, before it is in the file.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()  # fault: wal-stays
                # Nor is the file itself synced by a writer that promised less.
                with storage_errors(path):
                    fsync_open_file(path)  # fault: rows-of-before-not-synced
            check_tables(connection, path, tables, are_written=True)
    except BaseException:
        connection.close()
        raise
    return connection


def check_unmoved(connection: sqlite3.Connection, path: Path) -> None:
    """Raise StorageError unless what SQLite has opened by now is what the path leads to.

    Of a path through a descriptor SQLite asks where it leads before it opens the file, and goes by
    that from then on: what is beside the file it would open in another directory that has come
    there since. Its first read opens that, so this comes before it and after it. An exchange in the
    few calls between these, which is taken back before the second, is not seen.
    """
    as_before, connection.text_factory = connection.text_factory, os.fsdecode  # a name is any bytes
    opened = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    connection.text_factory = as_before
    with suppress(FileNotFoundError):
        if opened.samefile(path):
            return
    problem = "its directory was moved while it was opened"
    raise StorageError(path, f"{problem}; open it where it is now")


def undo_unfinished_making(path: Path) -> None:
    """Let SQLite empty a file that a crash left half made.

    It begins with zeros, and its rollback journal says that it held no page before.
    """
    journal = _first_bytes(path.with_name(path.name + "-journal"), _PAGES_BEFORE.stop)
    if not journal.startswith(_JOURNAL_MAGIC) or any(journal[_PAGES_BEFORE]):
        return
    if any(_first_bytes(path, _PAGES_BEFORE.stop)):
        return
    # It rolls back before the first read, unless the journal's writer is alive.
    with sqlite_errors(path), closing(open_uri(path, "mode=rw")) as connection:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _first_bytes(path: Path, count: int) -> bytes:
    """The first bytes of a file; none where there is no file."""
    with storage_errors(path):
        return first_bytes(path, count) if path.is_file() else b""


def open_uri(path: Path, parameters: str) -> "Connection":
    """Open a connection that may be used from any thread; the caller does the locking.

    path: without links; SQLite would look for a -wal beside the file that a link leads to.
    """
    check_files(path, read_only="mode=ro" in parameters)
    _check_not_inherited(path)
    with sqlite_errors(path), storage_errors(path):
        connection = sqlite3.connect(
            # Without an authority a path that begins with two slashes would be taken for one.
            f"file://{quote(os.fsencode(path.absolute()))}?{parameters}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=LOCK_WAIT_SECONDS,
            factory=Connection,
        )
        try:
            check_unmoved(connection, path)
            connection.file = _identity(path)
            _connections.add(connection)
            # What stands in a file calls no function that does more than compute.
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA ignore_check_constraints=ON")
        except BaseException:
            connection.close()
            raise
        return connection


class Connection(sqlite3.Connection):
    """Is known while it is open, for what a child made by fork() has to know.

    also_close: lets go of what is held open with it.
    """

    file: tuple[int, int] = (0, 0)
    also_close: Callable[[], object] | None = None

    def close(self) -> None:
        super().close()
        _connections.discard(self)
        if self.also_close is not None:
            self.also_close()


_connections: WeakSet[Connection] = WeakSet()
_inherited: set[tuple[int, int]] = set()


def _inherit() -> None:
    _inherited.update(connection.file for connection in list(_connections))


os.register_at_fork(after_in_child=_inherit)


def _check_not_inherited(path: Path) -> None:
    """Raise UnsupportedError for a file that this process was forked with.

    SQLite keeps the locks that a process has in its memory, so a child takes its parent's for its
    own: it would write, and remove a -wal, beside others who have asked for the lock.
    """
    if _inherited and path.exists() and _identity(path) in _inherited:
        problem = "the process that this one was forked from had it open; start a new process"
        raise UnsupportedError(f"{known_path(path)}: {problem}")


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def check_tables(
    connection: sqlite3.Connection, path: Path, tables: Tables, *, are_written: bool = False
) -> None:
    """Check those of the tables that are there, before anything is read from them.

    Raises CorruptDatabaseError for what is no ordinary table: a view, a virtual table, a computed
    column, default or index is a program of whoever made the file, and may run for ever; and a
    trigger writes what nobody here has asked for, as a UNIQUE rule drops what was. A table without
    its key would hold a name twice, and be read to its end for each. are_written: nor may a column
    make other values of those that it gets.
    """
    names = ",".join(f"'{table}'" for table in tables)
    query = (
        f"SELECT type, name, rootpage FROM sqlite_master WHERE tbl_name COLLATE NOCASE IN ({names})"
    )
    for kind, name, root_page in connection.execute(query).fetchall():
        if kind == "index":
            continue
        if kind != "table" or not root_page:
            what = "virtual table" if kind == "table" else kind
            raise CorruptDatabaseError(path, f"{name} is a {what}, and only tables belong here")
        problem = _wrong_with(connection, name, tables.get(name.lower()), are_written=are_written)
        if problem is not None:
            raise CorruptDatabaseError(path, f"{name}{problem}")


def tables_of(connection: sqlite3.Connection) -> set[str]:
    """The names of all tables and views."""
    query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
    return {name for (name,) in connection.execute(query)}


def columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    """The names of a table's columns; none where there is no such table."""
    columns = connection.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
    return {name for _, name, *_ in columns}


_ROW_NAMES = ("rowid", "oid", "_rowid_")
_EXPRESSION = -2  # an index's column that is none of the table's


def _wrong_with(
    connection: sqlite3.Connection, table: str, key: str | None, *, are_written: bool
) -> str | None:
    """What is wrong with a table: asked by statements, as a table may have a function's name."""
    columns = connection.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
    for _, name, kind, _, default, _, hidden in columns:
        if hidden or default is not None:
            return f".{name} is computed, not stored"
        if name.lower() in _ROW_NAMES:
            return f".{name} hides the rows' numbers, by which they are read"
        if are_written and key is not None and _changes_values(kind):
            return f".{name} is of type {kind}, which changes what is stored"
    found = ", ".join(name for _, name, _, _, _, place, _ in columns if place) or None
    if found != key:
        return f"'s primary key is {found or 'none'}, not {key or 'none'}"
    indexes = connection.execute(f"PRAGMA main.index_list({quoted(table)})").fetchall()
    for _, name, is_unique, origin, is_partial in indexes:
        problem = _wrong_with_index(connection, name, origin, is_partial=is_partial)
        if problem is None and is_unique and origin != "pk":
            problem = " is UNIQUE, and would refuse or replace rows"
        if problem is not None:
            return f"'s index {name}{problem}" if origin != "pk" else f"'s primary key{problem}"
    return None


def _wrong_with_index(
    connection: sqlite3.Connection, name: str, origin: str, *, is_partial: bool
) -> str | None:
    for _, column, _, _, order, is_key in connection.execute(
        f"PRAGMA main.index_xinfo({quoted(name)})"
    ).fetchall():
        if column == _EXPRESSION:
            return " is computed, not stored"
        # Its own order is what lookups go by.
        if origin == "pk" and is_key and order.upper() != "BINARY":
            return " has an order of its own, not BINARY"
    # A node has a partial index, WHERE spent_index = -1; a function has parentheses.
    query = "SELECT 1 FROM sqlite_master WHERE name = ? AND upper(sql) GLOB '*WHERE*(*'"
    if is_partial and connection.execute(query, (name,)).fetchone() is not None:
        return " is computed, not stored"
    return None


def _changes_values(declared_type: str) -> bool:
    """Whether SQLite makes text or floating point numbers of integers there."""
    kind = declared_type.upper()
    if "INT" in kind:
        return False
    return any(part in kind for part in ("CHAR", "CLOB", "TEXT", "REAL", "FLOA", "DOUB"))


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def check_files(path: Path, *, read_only: bool) -> None:
    """Check an SQLite file, and what SQLite puts beside it, as far as they are there."""
    with storage_errors(path):
        for suffix in ("", *SIDE_SUFFIXES):
            check_file(path.with_name(path.name + suffix), read_only=read_only)


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, which name the file and say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise _as_cdb_error(path, error) from error
    except UnicodeDecodeError as error:
        # Its error tells a name that is damaged.
        raise CorruptDatabaseError(
            path, f"SQLite found damage: a name is no text ({error})"
        ) from error


@contextmanager
def stored_data(path: Path) -> Iterator[None]:
    """Like sqlite_errors, for reads: values of a type or size that we never write are damage."""
    try:
        with sqlite_errors(path):
            yield
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        raise CorruptDatabaseError(
            path, f"a row holds what never belongs there: {error}"
        ) from error


def _resolved_bytes(path: Path) -> int:
    """How long the path is that SQLite makes of this one, also of one through a descriptor."""
    return len(os.fsencode(os.path.realpath(path)))


def _as_cdb_error(path: Path, error: sqlite3.Error) -> CdbError:
    if isinstance(error, sqlite3.ProgrammingError):
        return DatabaseClosedError(path, "it was closed while it was read; open it again")
    if not hasattr(error, "sqlite_errorcode"):
        return CorruptDatabaseError(path, f"a row holds what never belongs there: {error}")
    # The low byte is the primary error; the rest says which operation it was.
    match error.sqlite_errorcode & 0xFF:
        case sqlite3.SQLITE_FULL:
            return StorageError(path, "the disk is full; free some space, then try again")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return DatabaseLockedError(path, "another program has locked this SQLite file")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_CONSTRAINT:
            return CorruptDatabaseError(path, f"SQLite found damage: {error}")
        case sqlite3.SQLITE_CANTOPEN if _resolved_bytes(path) > _LONGEST_PATH:
            problem = f"SQLite opens no path of more than {_LONGEST_PATH} bytes"
            return StorageError(path, f"{problem}; name a shorter one")
        case sqlite3.SQLITE_CANTOPEN if not path.exists():
            return DatabaseNotFoundError(path, "no database is here")
        case sqlite3.SQLITE_CANTOPEN:
            return StorageError(path, f"{error} (SQLITE_CANTOPEN); {_CANT_OPEN_ADVICE}")
        case sqlite3.SQLITE_IOERR if error.sqlite_errorcode == sqlite3.SQLITE_IOERR_SHMSIZE:
            problem = "no room for its -shm file (SQLITE_IOERR_SHMSIZE)"
            return StorageError(path, f"{problem}; free some space, then try again")
        case sqlite3.SQLITE_READONLY if error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
            problem = "a crash left a commit half done; open it once with the program that wrote it"
            return StorageError(path, problem)
        case sqlite3.SQLITE_ERROR:
            return CorruptDatabaseError(path, f"not the tables that belong here: {error}")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            advice = "get the right to write to it, or mount it for writing"
            return StorageError(path, f"{error} ({error.sqlite_errorname}); {advice}")
        case _:
            name = getattr(error, "sqlite_errorname", "SQLite")
            return StorageError(path, f"{error} ({name}); check the disk, then try again")


def select_in(
    connection: sqlite3.Connection, select: str, values: Sequence[bytes | int]
) -> Iterator[tuple[Any, ...]]:
    """The rows of ``select … IN (values)``, for any number of values, in no particular order.

    The lists are padded to powers of two, so that a few prepared statements serve all lengths.
    """
    for start in range(0, len(values), MAX_LOOKUP_VARIABLES):
        part = values[start : start + MAX_LOOKUP_VARIABLES]
        padded_length = 1 << (len(part) - 1).bit_length()
        marks = ",".join("?" * padded_length)
        padding = [part[-1]] * (padded_length - len(part))
        # All at once: a cursor that is left half way complains when its database is closed first.
        yield from connection.execute(f"{select} IN ({marks})", [*part, *padding]).fetchall()


def parts(packed: bytes | memoryview, item_bytes: int) -> Iterator[tuple[int, int, memoryview]]:
    """Packed items as parameters for EACH: the first one's place, how many, and their bytes."""
    items = PART_BYTES // item_bytes
    for start in range(0, len(packed) // item_bytes, items):
        part = memoryview(packed)[item_bytes * start : item_bytes * (start + items)]
        yield start, len(part) // item_bytes, part


def integrity_problems(connection: sqlite3.Connection) -> list[str]:
    """What SQLite's own check of the whole file says, a line each; nothing when it is sound."""
    rows = connection.execute("PRAGMA integrity_check").fetchall()
    lines = [line for (text,) in rows for line in str(text).splitlines()]
    return [line for line in lines if line != "ok" and not line.startswith("*** in database")]


def transaction(connection: sqlite3.Connection) -> None:
    """Begin a write transaction unless one is open."""
    if not connection.in_transaction:
        connection.execute("BEGIN IMMEDIATE")


def to_signed(value: int) -> int:
    """An integer of 0 … 2^64-1 as SQLite's signed 64-bit integer with the same bits."""
    return value - 2**64 if value >= 2**63 else value


def from_signed(value: int) -> int:
    """The inverse of to_signed."""
    return value % 2**64


def create_tables(connection: sqlite3.Connection, statements: Iterable[str]) -> None:
    """Run CREATE … IF NOT EXISTS statements in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in statements:
        connection.execute(statement)
    connection.execute("COMMIT")


def sqlite_versions() -> list[str]:
    """The versions() of a schema whose engine is SQLite."""
    return [f"SQLite {sqlite3.sqlite_version}"]
