"""How coins are laid out in an SQLite table that numbers its rows."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from cdb.engines.batch import Batch
from cdb.engines.stored import create_block_table


class CoinTable(Protocol):
    """One layout of the coin table: names, and SQL with its parameters."""

    table: str
    block_table: str
    create: tuple[str, ...]
    """CREATE … IF NOT EXISTS statements, the block table's among them."""
    columns: str
    """SQL for the fields of StoredCoin."""
    insert: str
    """The INSERT that takes what rows() yields."""
    spend: str
    """The UPDATE that takes (spent index, row id)."""

    def rows(self, batch: Batch) -> Iterable[tuple[Any, ...]]:
        """The batch's coins as parameters of ``insert``."""
        ...

    def unspend(self, connection: sqlite3.Connection, rows: Sequence[int]) -> None:
        """Mark the coins of these rows as unspent."""
        ...


class CompactTable:
    """The layout of cdb's own schemas.

    A spent index is kept as ``spent_index - 2^31``: the numbers that occur then take 4 bytes, as
    does the 0 of an unspent coin, and a spend overwrites in place instead of making the row longer,
    which would split pages that were filled to the brim.
    """

    table = "coin"
    block_table = "block"
    create: tuple[str, ...] = (
        """CREATE TABLE IF NOT EXISTS coin(
            id INTEGER PRIMARY KEY,
            parent BLOB NOT NULL,
            puzzle_hash BLOB NOT NULL,
            amount BLOB NOT NULL,
            confirmed_index INTEGER NOT NULL,
            spent_index INTEGER NOT NULL)""",
        create_block_table("block"),
    )
    columns = "id, parent, puzzle_hash, amount, confirmed_index, spent_index + 2147483648"
    insert = "INSERT INTO coin VALUES (?, ?, ?, ?, ?, ? - 2147483648)"
    spend = "UPDATE coin SET spent_index = ? - 2147483648 WHERE id = ?"

    def rows(self, batch: Batch) -> Iterable[tuple[Any, ...]]:
        """See CoinTable."""
        indices, spent_indices = batch.block_indices(), batch.spent_indices()
        for row, coin in enumerate(batch.coins, batch.first_row):
            yield (row, *coin, next(indices), spent_indices[row - batch.first_row])

    def unspend(self, connection: sqlite3.Connection, rows: Sequence[int]) -> None:
        """See CoinTable."""
        connection.executemany(self.spend, [(0, row) for row in rows])
