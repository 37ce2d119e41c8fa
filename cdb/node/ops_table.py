"""cdb_ops, the table in a node's file that decides what happened to its coins.

A row is an operation (cdb.node.operation), inserted in the transaction of the one who asked for it:
so SQLite's commit is the commit of the coins, too. Rows go once the log has them for sure; the
newest stays, for it says where the log has to be. The first row stands for no coins at all.

coin_record, in a form that is not chia's, keeps a plain node from starting with no coins.
"""

import sqlite3
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cdb.errors import CorruptDatabaseError
from cdb.node.log import RESTORE
from cdb.node.operation import Operation, Tip, check_line
from cdb.stores.node_table.table import COIN_TABLE, KEPT_COLUMN

OPS_TABLE = "cdb_ops"
FIRST_NUMBER = 0
"""Of the row that says where the log is at first: in a new file, or on the day of activation."""
OLD_TABLE = "cdb_coin_record"
"""chia's own table, which activation puts aside."""
IS_UNUSED = (
    f"SELECT (SELECT max(number) FROM {OPS_TABLE}) IS {FIRST_NUMBER} AND EXISTS"
    f" (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '{OLD_TABLE}')"
)
"""Whether that table still has all coins: nothing was done to them since activation."""
CREATE = (
    f"CREATE TABLE {OPS_TABLE}("
    "number INTEGER PRIMARY KEY, height INTEGER NOT NULL, kind TEXT NOT NULL, record BLOB NOT NULL)"
)
INSERT = "INSERT INTO cdb_ops VALUES(?, ?, ?, ?)"
_DELETE = "DELETE FROM cdb_ops WHERE number <= ?"
SELECT = "SELECT number, height, kind, record FROM cdb_ops ORDER BY number"
NEWEST = "SELECT max(number) FROM cdb_ops"

_COIN_COLUMNS = f"SELECT name FROM pragma_table_info('{COIN_TABLE}')"
CREATE_MARK = f"CREATE TABLE {COIN_TABLE}({KEPT_COLUMN} TEXT)"

Connection = Any
"""aiosqlite's."""


async def fetched(connection: Connection, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """All rows of a statement, whatever the connection makes of rows."""
    rows = await connection.execute_fetchall(statement, values)
    return [tuple(row) for row in rows]


async def lock(connection: Connection) -> bool:
    """Have this transaction be the one that writes from now on; False: there is no such table.

    To be called before it reads: SQLite waits for another one's end only then.
    """
    try:
        await connection.execute("DELETE FROM cdb_ops WHERE FALSE")
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return False
        raise
    return True


async def create(connection: Connection, root: Tip) -> list[Operation]:
    """Make the table; its first row, as operations() has it, stands for an empty log."""
    first = Operation(FIRST_NUMBER, 0, root, None)
    await connection.execute(CREATE)
    await insert(connection, first)
    return [first]


async def operations(connection: Connection, file: Path | None) -> list[Operation]:
    """What the rows keep, as checked() has it."""
    return checked(await fetched(connection, SELECT), file)


def checked(rows: Iterable[tuple[Any, ...]], file: Path | None) -> list[Operation]:
    """The operations of all rows, which are in order.

    file: the table's. Raises CorruptDatabaseError where one is none, or doesn't follow on others.
    """
    try:
        found = [Operation.of_row(*row) for row in rows]
        check_line(found)
    except (ValueError, TypeError, struct.error) as error:
        problem = f"its table cdb_ops is damaged: {error}"
        raise CorruptDatabaseError(file or "memory", problem, RESTORE) from error
    return found


async def insert(connection: Connection, operation: Operation) -> None:
    """Add an operation, in the transaction that is open."""
    await connection.execute(INSERT, values_of(operation))


def values_of(operation: Operation) -> tuple[int, int, str, bytes]:
    """An operation's row."""
    return operation.number, int(operation.height), operation.kind, operation.record


async def delete_up_to(connection: Connection, number: int) -> None:
    """Take away what the log has for sure; a newer row has to follow in this transaction."""
    await connection.execute(_DELETE, (number,))


async def newest_number(connection: Connection) -> int:
    """The number of the newest row that this connection sees; -1: there is none."""
    [(number,)] = await fetched(connection, NEWEST)
    return -1 if number is None else int(number)


async def has_coins(connection: Connection) -> bool:
    """Whether chia's own table holds coins."""
    columns = await _coin_columns(connection)
    if not columns or KEPT_COLUMN in columns:
        return False
    return bool(await fetched(connection, "SELECT 1 FROM coin_record LIMIT 1"))


async def is_marked(connection: Connection) -> bool:
    """Whether coins were kept in cdb."""
    return KEPT_COLUMN in await _coin_columns(connection)


async def mark(connection: Connection) -> None:
    """Keep chia's own store from this file: the indexes that it makes fail on such a table."""
    if await is_marked(connection):
        return
    await connection.execute("DROP TABLE IF EXISTS coin_record")
    await connection.execute(CREATE_MARK)


async def _coin_columns(connection: Connection) -> set[str]:
    return {name for (name,) in await fetched(connection, _COIN_COLUMNS)}
