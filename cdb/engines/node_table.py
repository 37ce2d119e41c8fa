"""The coin table of Chia's full node, version 2, as a CoinTable, and its primary key as Names.

Columns, index names and derived values are the node's own: amounts have 8 bytes, big endian;
coinbase is 1 for reward coins; spent_index is 0 for an unspent coin, or -1 when the coin has the
puzzle hash and the amount of its parent, which the same block spent.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from cdb.engines.batch import Batch
from cdb.engines.sqlite import select_in, stored_data, to_signed
from cdb.engines.stored import create_block_table
from cdb.mainnet import FARMER_PARENT_PREFIX, POOL_PARENT_PREFIX

COIN_TABLE = "coin_record"
FORMAT_TABLE = "cdb_format"
FORMAT_VERSION = 1
VERSION_TABLE = "database_version"
NODE_VERSION = 2
COIN_COLUMNS = "rowid, coin_parent, puzzle_hash, amount, confirmed_index, max(spent_index, 0)"
UNSPENT = 0
UNSPENT_LIKE_PARENT = -1

_CREATE = (
    """CREATE TABLE IF NOT EXISTS coin_record(
        coin_name blob PRIMARY KEY,
        confirmed_index bigint,
        spent_index bigint,
        coinbase int,
        puzzle_hash blob,
        coin_parent blob,
        amount blob,
        timestamp bigint)""",
    create_block_table("cdb_block"),
    f"CREATE TABLE IF NOT EXISTS {VERSION_TABLE}(version int)",
    f"INSERT INTO {VERSION_TABLE} SELECT {NODE_VERSION}"
    f" WHERE NOT EXISTS (SELECT 1 FROM {VERSION_TABLE})",
    f"CREATE TABLE IF NOT EXISTS {FORMAT_TABLE}(version INTEGER, index_set TEXT)",
)
_PARENT_INDEX = "CREATE INDEX IF NOT EXISTS coin_parent_index ON coin_record(coin_parent)"
INDEX_SETS: dict[str, tuple[str, ...]] = {
    "benchmark": (_PARENT_INDEX,),
    "node": (
        "CREATE INDEX IF NOT EXISTS coin_confirmed_index ON coin_record(confirmed_index)",
        "CREATE INDEX IF NOT EXISTS coin_spent_index ON coin_record(spent_index)",
        "CREATE INDEX IF NOT EXISTS coin_puzzle_hash ON coin_record(puzzle_hash)",
        _PARENT_INDEX,
    ),
}


class NodeTable:
    """See CoinTable. Beside the node's table, cdb_block says what each block did."""

    table = COIN_TABLE
    block_table = "cdb_block"
    columns = COIN_COLUMNS
    insert = (
        "INSERT INTO coin_record(rowid, coin_name, confirmed_index, spent_index, coinbase,"
        " puzzle_hash, coin_parent, amount, timestamp) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    spend = "UPDATE coin_record SET spent_index = ? WHERE rowid = ?"
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

    def rows(self, batch: Batch) -> Iterable[tuple[Any, ...]]:
        """See CoinTable."""
        timestamps = dict(zip(batch.packed.indices, batch.packed.timestamps, strict=True))
        indices, spent_indices = batch.block_indices(), batch.spent_indices()
        for place, (parent, puzzle_hash, amount_bytes) in enumerate(batch.coins):
            index = next(indices)
            spent_parent = batch.spent.get(parent)
            like_parent = spent_parent is not None and spent_parent[1:] == (
                index,
                puzzle_hash,
                amount_bytes,
            )
            yield (
                batch.first_row + place,
                batch.names[place],
                index,
                spent_indices[place] or (UNSPENT_LIKE_PARENT if like_parent else UNSPENT),
                is_reward(parent),
                puzzle_hash,
                parent,
                amount_bytes,
                to_signed(timestamps[index]),
            )

    def unspend(self, connection: sqlite3.Connection, rows: Sequence[int]) -> None:
        """See CoinTable."""
        connection.executemany(self._unspend, [(row,) for row in rows])


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

    def add(self, names: Sequence[bytes], first_row: int) -> None:
        """Nothing to do: the rows carry their names."""

    def committed(self) -> None:
        """Nothing to do."""

    def rewind(self, rows: int) -> None:
        """Nothing to do."""

    def checkpoint(self) -> None:
        """Nothing to do."""

    def close(self) -> None:
        """Nothing to do."""


def is_reward(parent_coin_name: bytes) -> bool:
    """Whether a coin with this parent was made by farming on mainnet: the node's coinbase flag."""
    return parent_coin_name[:16] in (POOL_PARENT_PREFIX, FARMER_PARENT_PREFIX)
