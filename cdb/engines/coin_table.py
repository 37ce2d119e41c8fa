"""How coins are laid out in an SQLite table that numbers its rows."""

import sqlite3
from collections.abc import Collection, Sequence
from typing import Protocol

from cdb.engines.batch import Batch
from cdb.engines.sqlite import EACH, select_in
from cdb.engines.stored import create_block_table
from cdb.mainnet import is_reward


class CoinTable(Protocol):
    """One layout of the coin table. All calls but the last two come within a transaction."""

    table: str
    block_table: str
    create: tuple[str, ...]
    """CREATE … IF NOT EXISTS statements, the block table's among them."""
    columns: str
    """SQL for the fields of StoredCoin."""

    def append(self, connection: sqlite3.Connection, batch: Batch) -> None:
        """Add the batch's coins, and mark those that it spends."""
        ...

    def unspend(self, connection: sqlite3.Connection, rows: Sequence[int]) -> None:
        """Mark the coins of these rows as unspent."""
        ...

    def drop_above(self, connection: sqlite3.Connection, row: int) -> None:
        """Drop the coins of all rows above this one."""
        ...

    def any_spent(self, connection: sqlite3.Connection, rows: Sequence[int]) -> bool:
        """Whether a coin of these rows is spent."""
        ...

    def may_have_irregular_child(
        self, connection: sqlite3.Connection, names: Sequence[bytes]
    ) -> Collection[bytes]:
        """Those of the names that may be the parent of an irregular coin; see batch.py."""
        ...


class CompactTable:
    """The layout of cdb's own schemas: a coin's row never changes, spends are rows of their own.

    An old coin's page is far larger than its share of the spends', so this way a spend changes
    fewer pages.
    """

    table = "coin"
    block_table = "block"
    create: tuple[str, ...] = (
        """CREATE TABLE IF NOT EXISTS coin(
            id INTEGER PRIMARY KEY,
            parent BLOB NOT NULL,
            puzzle_hash BLOB NOT NULL,
            amount BLOB NOT NULL,
            confirmed_index INTEGER NOT NULL)""",
        """CREATE TABLE IF NOT EXISTS spend(
            id INTEGER PRIMARY KEY,
            spent_index INTEGER NOT NULL)""",
        # Entries may outlive their coins: each only costs lookups.
        "CREATE TABLE IF NOT EXISTS irregular_parent(name BLOB PRIMARY KEY) WITHOUT ROWID",
        create_block_table("block"),
    )
    columns = (
        "id, parent, puzzle_hash, amount, confirmed_index,"
        " ifnull((SELECT spent_index FROM spend WHERE spend.id = coin.id), 0)"
    )
    _insert = f"""{EACH} INSERT INTO coin
        SELECT ?2 + n, substr(?3, 72 * n + 1, 32), substr(?3, 72 * n + 33, 32),
               substr(?3, 72 * n + 65, 8), ?4
        FROM each"""

    def append(self, connection: sqlite3.Connection, batch: Batch) -> None:
        """See CoinTable."""
        coins = (
            (block.count, block.first_row, block.packed, block.index)
            for block in batch.confirms()
            if block.count
        )
        connection.executemany(self._insert, coins)
        connection.executemany("INSERT INTO spend VALUES (?, ?)", batch.spends())
        # A reward's parent is a number behind 16 fixed bytes, which no coin's name begins with.
        parents = [(name,) for name in batch.irregular_parents if not is_reward(name)]
        connection.executemany("INSERT OR IGNORE INTO irregular_parent VALUES (?)", parents)

    def unspend(self, connection: sqlite3.Connection, rows: Sequence[int]) -> None:
        """See CoinTable."""
        connection.executemany("DELETE FROM spend WHERE id = ?", [(row,) for row in rows])

    def drop_above(self, connection: sqlite3.Connection, row: int) -> None:
        """See CoinTable."""
        connection.execute("DELETE FROM coin WHERE id > ?", (row,))
        connection.execute("DELETE FROM spend WHERE id > ?", (row,))

    def any_spent(self, connection: sqlite3.Connection, rows: Sequence[int]) -> bool:
        """See CoinTable."""
        return any(True for _ in select_in(connection, "SELECT 1 FROM spend WHERE id", rows))

    def may_have_irregular_child(
        self, connection: sqlite3.Connection, names: Sequence[bytes]
    ) -> Collection[bytes]:
        """See CoinTable."""
        if connection.execute("SELECT 1 FROM irregular_parent LIMIT 1").fetchone() is None:
            return ()
        select = "SELECT name FROM irregular_parent WHERE name"
        return {name for (name,) in select_in(connection, select, names)}
