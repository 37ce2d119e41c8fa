"""The coin table of Chia's full node, version 2, as a CoinTable, and its primary key as Names.

Columns, index names and derived values are the node's own: amounts have 8 bytes, big endian;
coinbase is 1 for reward coins; spent_index is 0 for an unspent coin, or -1 when the coin has the
puzzle hash and the amount of its parent, which the same block spent.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cdb.contract.coins import MAX_U64, is_reward
from cdb.stores.rows.batch import COIN, NAME, Batch
from cdb.stores.rows.index import ROOT, Branch
from cdb.stores.rows.sqlite import Tables, select_in, stored_data, to_signed
from cdb.stores.rows.stored import create_block_table

COIN_TABLE = "coin_record"
KEPT_COLUMN = "kept_in_cdb"
"""What coin_record has instead of its own columns where a node's coins are in a coin log."""
LOG_SUFFIX = ".cdb"
"""That log's path is the file's with this behind it."""
BLOCK_TABLE = "cdb_block"
FORMAT_TABLE = "cdb_format"
FORMAT_VERSION = 1
VERSION_TABLE = "database_version"
NODE_VERSION = 2
TABLES: Tables = {
    COIN_TABLE: "coin_name",
    BLOCK_TABLE: "block_index",
    VERSION_TABLE: None,
    FORMAT_TABLE: None,
}
COIN_COLUMNS = "rowid, coin_parent, puzzle_hash, amount, confirmed_index, max(spent_index, 0)"
UNSPENT = 0
UNSPENT_LIKE_PARENT = -1

NODE_COLUMNS = {
    "coin_name": "blob PRIMARY KEY",
    "confirmed_index": "bigint",
    "spent_index": "bigint",
    "coinbase": "int",
    "puzzle_hash": "blob",
    "coin_parent": "blob",
    "amount": "blob",
    "timestamp": "bigint",
}
"""Of a node's coin table, in its order, with their types."""
NODE_INDEXES = {
    "coin_confirmed_index": "confirmed_index",
    "coin_spent_index": "spent_index",
    "coin_puzzle_hash": "puzzle_hash",
    "coin_parent_index": "coin_parent",
}
"""The column of each index that a node makes; a partial one comes later."""


def create_coin_table(table: str = COIN_TABLE) -> str:
    """SQL that makes a node's coin table."""
    columns = ",".join(f"\n        {name} {kind}" for name, kind in NODE_COLUMNS.items())
    return f"CREATE TABLE IF NOT EXISTS {table}({columns})"


def create_index(name: str, table: str = COIN_TABLE) -> str:
    """SQL that makes one of a node's indexes."""
    return f"CREATE INDEX IF NOT EXISTS {name} ON {table}({NODE_INDEXES[name]})"


_CREATE = (
    create_coin_table(),
    create_block_table(BLOCK_TABLE),
    f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE}(version int)",
    f"INSERT INTO {VERSION_TABLE} SELECT {NODE_VERSION}"
    f" WHERE NOT EXISTS (SELECT 1 FROM {VERSION_TABLE})",
    f"CREATE TABLE IF NOT EXISTS {FORMAT_TABLE}(version INTEGER, index_set TEXT)",
)
INDEX_SETS: dict[str, tuple[str, ...]] = {
    "benchmark": (create_index("coin_parent_index"),),
    "node": tuple(map(create_index, NODE_INDEXES)),
}


class NodeTable:
    """See CoinTable. Beside the node's table, cdb_block says what each block did."""

    table = COIN_TABLE
    block_table = BLOCK_TABLE
    tables = TABLES
    columns = COIN_COLUMNS
    _insert = (
        "INSERT INTO coin_record(rowid, coin_name, confirmed_index, spent_index, coinbase,"
        " puzzle_hash, coin_parent, amount, timestamp) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    _spend = "UPDATE coin_record SET spent_index = ? WHERE rowid = ?"
    _unspend = """UPDATE coin_record SET spent_index = CASE WHEN EXISTS (
        SELECT 1 FROM coin_record AS parent
        WHERE parent.coin_name = coin_record.coin_parent
        AND parent.puzzle_hash = coin_record.puzzle_hash
        AND parent.amount = coin_record.amount
        AND parent.spent_index = coin_record.confirmed_index) THEN -1 ELSE 0 END
        WHERE rowid = ?"""

    def __init__(self, index_set: str) -> None:
        mark = (
            f"INSERT INTO {FORMAT_TABLE} SELECT {FORMAT_VERSION}, '{index_set}'"
            f" WHERE NOT EXISTS (SELECT 1 FROM {FORMAT_TABLE})"
        )
        self.create: tuple[str, ...] = (*_CREATE, mark, *INDEX_SETS[index_set])

    def append(self, connection: sqlite3.Connection, batch: Batch) -> None:
        """See CoinTable."""
        spent_indices = dict(batch.spends())
        connection.executemany(self._insert, self._rows(connection, batch, spent_indices))
        older = ((index, row) for row, index in spent_indices.items() if row < batch.first_row)
        connection.executemany(self._spend, older)

    def _rows(
        self, connection: sqlite3.Connection, batch: Batch, spent_indices: dict[int, int]
    ) -> Iterator[tuple[Any, ...]]:
        names = iter(batch.rows)
        spent = _spent_coins(connection, batch)
        for block in batch.confirms():
            timestamp = to_signed(block.timestamp)
            for row, coin in enumerate(COIN.iter_unpack(block.packed), block.first_row):
                parent, puzzle_hash, amount_bytes = coin
                like_parent = spent.get(parent) == (block.block_index, puzzle_hash, amount_bytes)
                unspent = UNSPENT_LIKE_PARENT if like_parent else UNSPENT
                yield (
                    row,
                    next(names),
                    block.block_index,
                    spent_indices.get(row, unspent),
                    is_reward(parent),
                    puzzle_hash,
                    parent,
                    amount_bytes,
                    timestamp,
                )

    def unspend(self, connection: sqlite3.Connection, rows: Sequence[int]) -> None:
        """See CoinTable."""
        connection.executemany(self._unspend, [(row,) for row in rows])

    def drop_above(self, connection: sqlite3.Connection, row: int) -> None:
        """See CoinTable."""
        connection.execute("DELETE FROM coin_record WHERE rowid > ?", (row,))

    def begin_branch(self, connection: sqlite3.Connection, above: int) -> None:
        """See CoinTable. It has no index that could be of another branch."""

    def branches(self, connection: sqlite3.Connection) -> Iterator[Branch]:
        """See CoinTable."""
        yield ROOT

    def spent(self, connection: sqlite3.Connection, rows: Sequence[int]) -> list[tuple[int, int]]:
        """See CoinTable."""
        select = "SELECT rowid, spent_index FROM coin_record WHERE spent_index > 0 AND rowid"
        return [*select_in(connection, select, rows)]

    def may_have_child(
        self, connection: sqlite3.Connection, parents: Sequence[bytes]
    ) -> set[bytes]:
        """All of them: like the node, look for every coin that is confirmed."""
        return set(parents)

    def may_have_early_child(
        self, connection: sqlite3.Connection, names: Sequence[bytes]
    ) -> set[bytes]:
        """All of them, likewise."""
        return set(names)


def _spent_coins(
    connection: sqlite3.Connection, batch: Batch
) -> dict[bytes, tuple[int, bytes, bytes]]:
    """Spent index, puzzle hash and amount of the coins that the batch spends, by name."""
    older = [row for row in batch.spent_rows if row < batch.first_row]
    select = "SELECT rowid, puzzle_hash, amount FROM coin_record WHERE rowid"
    coins = {row: coin for row, *coin in select_in(connection, select, older)}
    confirms = memoryview(batch.packed.confirms)
    spent = {}
    for (name,), (row, index) in zip(
        NAME.iter_unpack(batch.packed.spends), batch.spends(), strict=True
    ):
        if row >= batch.first_row:
            _, *coin = COIN.unpack_from(confirms, COIN.size * (row - batch.first_row))
        else:
            coin = coins[row]
        spent[name] = (index, *coin)
    return spent


class NodeNames:
    """See Names: the coin table's own primary key finds the row, and changes together with it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """See Names."""
        select = "SELECT coin_name, rowid FROM coin_record WHERE coin_name"
        with stored_data(self._path):
            rows: dict[bytes, int] = dict(select_in(self._connection, select, names))
        return [rows.get(name) for name in names]

    @property
    def newest_stored_row(self) -> int:
        """See Names: all of them."""
        return MAX_U64

    def add(self, rows: dict[bytes, int]) -> None:
        """Nothing to do: the rows carry their names."""

    def committed(self) -> None:
        """Nothing to do."""

    def rewind(self, rows: int) -> None:
        """Nothing to do."""

    def checkpoint(self) -> None:
        """Nothing to do."""

    def settle(self) -> None:
        """Nothing to do."""

    @property
    def is_settled(self) -> bool:
        """See Names."""
        return True

    def close(self) -> None:
        """Nothing to do."""
