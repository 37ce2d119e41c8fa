"""cdb_marked, the table of the coins that may be fast-forwarded, by puzzle hash.

chia marks an unspent coin that is its spent parent again, of the same puzzle hash and amount, and
looks among marked coins alone for the newest one of a singleton: whoever sends dust to its puzzle
hash makes that no slower. They are few, and here each is a row, which is written in the transaction
of the block that makes it: so it is there, or undone, with that.

The log decides. A row too many costs a look-up, and one too few an answer: so rows come before the
operation that they belong to, and go after it, wherever a caller is cancelled.
"""

from collections.abc import Collection
from dataclasses import dataclass

from cdb.chia.ops_table import Connection, fetched
from cdb.coins import NAME_BYTES

MARKED_TABLE = "cdb_marked"
CREATE = (
    f"CREATE TABLE {MARKED_TABLE}(puzzle_hash BLOB NOT NULL, coin_name BLOB NOT NULL,"
    " PRIMARY KEY(puzzle_hash, coin_name)) WITHOUT ROWID"
)
INSERT = "INSERT OR IGNORE INTO cdb_marked VALUES(?, ?)"
_DELETE = "DELETE FROM cdb_marked WHERE puzzle_hash = ? AND coin_name = ?"
_IS_THERE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'cdb_marked'"
_NAMES = (
    "SELECT CAST(group_concat(coin_name, '') AS BLOB) FROM cdb_marked"
    f" WHERE puzzle_hash = ? AND length(coin_name) = {NAME_BYTES}"
)

Marked = tuple[bytes, bytes]
"""A coin's puzzle hash and its name."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Coins that an operation marks, and those that it spends, or that it takes back."""

    added: Collection[Marked] = ()
    gone: Collection[Marked] = ()


async def is_there(connection: Connection) -> bool:
    """Whether there is such a table."""
    return bool(await fetched(connection, _IS_THERE))


async def create(connection: Connection, marked: Collection[Marked]) -> None:
    """Make it, of these coins."""
    await connection.execute(CREATE)
    await add(connection, marked)


async def add(connection: Connection, marked: Collection[Marked]) -> None:
    """Add coins; those that are there stay."""
    if marked:
        await connection.executemany(INSERT, marked)


async def take_away(connection: Connection, gone: Collection[Marked]) -> None:
    """Take away those of these coins that are there."""
    if gone:
        await connection.executemany(_DELETE, gone)


async def names_of(connection: Connection, puzzle_hash: bytes) -> bytes:
    """The names of the marked coins of a puzzle hash, without gaps."""
    [(names,)] = await fetched(connection, _NAMES, puzzle_hash)
    return bytes(names or b"")
