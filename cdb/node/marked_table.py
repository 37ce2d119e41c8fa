"""cdb_marked, the table of the coins that may be fast-forwarded, by puzzle hash.

chia marks an unspent coin that is its spent parent again, of the same puzzle hash and amount, and
looks among marked coins alone for the newest one of a singleton: whoever sends dust to its puzzle
hash makes that no slower. They are few, and here each is a row, which is written in the transaction
of the block that makes it: so it is there, or undone, with that.

The log decides. A row too many costs a look-up, and one too few an answer: so rows come before the
operation that they belong to, and go after it, wherever a caller is cancelled.

cdb_marked_sum keeps how many rows there are, and their exclusive or, in the same transactions: by
it an opening finds out whether rows are lost, and makes all of them again from the log.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain

from cdb.contract.coins import NAME_BYTES
from cdb.node.ops_table import Connection, fetched
from cdb.stores.rows.sqlite import EACH, parts

MARKED_TABLE, SUM_TABLE = "cdb_marked", "cdb_marked_sum"
CREATE = {
    MARKED_TABLE: (
        f"CREATE TABLE {MARKED_TABLE}(puzzle_hash BLOB NOT NULL, coin_name BLOB NOT NULL,"
        " PRIMARY KEY(puzzle_hash, coin_name)) WITHOUT ROWID"
    ),
    SUM_TABLE: f"CREATE TABLE {SUM_TABLE}(n INTEGER NOT NULL, digest BLOB NOT NULL)",
}
INSERT_SUM = f"INSERT INTO {SUM_TABLE} VALUES(?, ?)"
_SELECT_SUM = f"SELECT n, digest FROM {SUM_TABLE}"
_UPDATE_SUM = f"UPDATE {SUM_TABLE} SET n = ?, digest = ?"
ROW_BYTES = 2 * NAME_BYTES
_PARTED = (
    f"SELECT substr(?2, {ROW_BYTES} * n + 1, {NAME_BYTES}),"
    f" substr(?2, {ROW_BYTES} * n + {NAME_BYTES + 1}, {NAME_BYTES}) FROM each"
)
_INSERT = f"{EACH} INSERT OR IGNORE INTO {MARKED_TABLE} {_PARTED} RETURNING puzzle_hash, coin_name"
_DELETE = (
    f"{EACH} DELETE FROM {MARKED_TABLE} WHERE (puzzle_hash, coin_name) IN ({_PARTED})"
    " RETURNING puzzle_hash, coin_name"
)
_THERE = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (?, ?)"
_NAMES = (
    "SELECT CAST(group_concat(coin_name, '') AS BLOB) FROM cdb_marked"
    f" WHERE puzzle_hash = ? AND length(coin_name) = {NAME_BYTES}"
)
SELECT_ROWS = (
    f"SELECT CAST(group_concat(puzzle_hash || coin_name, '') AS BLOB) FROM {MARKED_TABLE}"
    " WHERE puzzle_hash BETWEEN ? AND ?"
    f" AND length(puzzle_hash) = {NAME_BYTES} AND length(coin_name) = {NAME_BYTES}"
)
RANGES = [(bytes([first]), bytes([first]) + b"\xff" * NAME_BYTES) for first in range(256)]
"""Of puzzle hashes, for SELECT_ROWS: SQLite joins a part of the rows at a time."""

Marked = tuple[bytes, bytes]
"""A coin's puzzle hash and its name."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Coins that an operation marks, and those that it spends, or that it takes back."""

    added: Collection[Marked] = ()
    gone: Collection[Marked] = ()


@dataclass(frozen=True, slots=True)
class Sum:
    """How many rows there are, and the exclusive or of them, each a number of ROW_BYTES."""

    n: int = 0
    digest: int = 0

    @classmethod
    def of(cls, rows: bytes) -> "Sum":
        """Of rows without gaps. It folds all of them at once: no row costs an object."""
        n = left = len(rows) // ROW_BYTES
        digest = int.from_bytes(rows, "big")
        while left > 1:
            half = left // 2
            bits = 8 * ROW_BYTES * half
            digest = (digest >> bits) ^ (digest & ((1 << bits) - 1))
            left -= half
        return cls(n, digest)

    @classmethod
    def of_parts(cls, found: Iterable[tuple[bytes | None]]) -> "Sum":
        """Of what SELECT_ROWS gives, range by range."""
        total = cls()
        for (rows,) in found:
            total = total.changed(cls.of(rows or b""), 1)
        return total

    def changed(self, other: "Sum", sign: int) -> "Sum":
        """With others added (1), or taken away (-1)."""
        return Sum(self.n + sign * other.n, self.digest ^ other.digest)

    @property
    def values(self) -> tuple[int, bytes]:
        """The row that keeps it."""
        return self.n, self.digest.to_bytes(ROW_BYTES, "big")


async def is_whole(connection: Connection) -> bool:
    """Whether all rows are there: it goes over them."""
    if not await _is_there(connection):
        return False
    parts_of = [await fetched(connection, SELECT_ROWS, *each) for each in RANGES]
    total = Sum.of_parts(rows for [rows] in parts_of)
    return await fetched(connection, _SELECT_SUM) == [total.values]


async def make(connection: Connection, marked: Collection[Marked]) -> None:
    """Make it, of these coins, in the place of what is there."""
    for table, create in CREATE.items():
        await connection.execute(f"DROP TABLE IF EXISTS {table}")
        await connection.execute(create)
    await connection.execute(INSERT_SUM, Sum().values)
    await add(connection, marked)


async def add(connection: Connection, marked: Collection[Marked]) -> None:
    """Add coins; those that are there stay."""
    await _change(connection, _INSERT, marked, 1)


async def take_away(connection: Connection, gone: Collection[Marked]) -> None:
    """Take away those of these coins that are there."""
    await _change(connection, _DELETE, gone, -1)


async def names_of(connection: Connection, puzzle_hash: bytes) -> bytes:
    """The names of the marked coins of a puzzle hash, without gaps."""
    [(names,)] = await fetched(connection, _NAMES, puzzle_hash)
    return bytes(names or b"")


async def _is_there(connection: Connection) -> bool:
    [(n_tables,)] = await fetched(connection, _THERE, *CREATE)
    return bool(n_tables == len(CREATE))


async def _change(
    connection: Connection, statement: str, coins: Collection[Marked], sign: int
) -> None:
    changed: list[bytes] = []
    for _, n_coins, part in parts(b"".join(chain.from_iterable(coins)), ROW_BYTES):
        changed += chain.from_iterable(await fetched(connection, statement, n_coins, part))
    if not changed:
        return
    for n, digest in await fetched(connection, _SELECT_SUM):
        kept = Sum(n, int.from_bytes(digest, "big"))
        total = kept.changed(Sum.of(b"".join(changed)), sign)
        await connection.execute(_UPDATE_SUM, total.values)
