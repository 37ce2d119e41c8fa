"""A node's database, made and changed as a node does it; without chia."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import is_reward
from cdb.stores.node_table.table import INDEX_SETS

TABLES = (
    "CREATE TABLE coin_record(coin_name blob PRIMARY KEY, confirmed_index bigint,"
    " spent_index bigint, coinbase int, puzzle_hash blob, coin_parent blob, amount blob,"
    " timestamp bigint)",
    *INDEX_SETS["node"],
    "CREATE INDEX coin_record_ph_ff_unspent_idx ON coin_record(puzzle_hash, spent_index)"
    " WHERE spent_index = -1",
    "CREATE TABLE database_version(version int)",
    "INSERT INTO database_version VALUES(2)",
    "CREATE TABLE hints(coin_id blob, hint blob)",
    "INSERT INTO hints VALUES(x'01', x'02')",
)
_ROWS = (
    "SELECT coin_name, confirmed_index, spent_index, coinbase, puzzle_hash, coin_parent, amount,"
    " timestamp FROM coin_record ORDER BY coin_name"
)
_INDEXES = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'coin_record'"


class MadeNode:
    """The one who writes to a node's database; it is closed at the end of a with block."""

    def __init__(self, path: Path, blocks: Iterable[BlockSpendInfo] = ()) -> None:
        self.path = path
        is_new = not path.exists()
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=OFF")
        if is_new:
            for statement in TABLES:
                self.connection.execute(statement)
            self.add(*blocks)

    def add(self, *blocks: BlockSpendInfo) -> None:
        """Add blocks in one transaction."""
        self.connection.execute("BEGIN")
        for block in blocks:
            self._add(block)
        self.connection.execute("COMMIT")

    def roll_back(self, height: int) -> None:
        """Take away the blocks above a height, in one transaction."""
        self.connection.execute("BEGIN")
        self.connection.execute("DELETE FROM coin_record WHERE confirmed_index > ?", (height,))
        self.connection.execute(
            "UPDATE coin_record SET spent_index = coinbase = 0 AND EXISTS (SELECT 1 FROM"
            " coin_record AS parent WHERE parent.coin_name = coin_record.coin_parent"
            " AND parent.puzzle_hash = coin_record.puzzle_hash"
            " AND parent.amount = coin_record.amount AND parent.spent_index > 0)"
            " WHERE spent_index > ?",
            (height,),
        )
        self.connection.execute("UPDATE coin_record SET spent_index = -1 WHERE spent_index = 1")
        self.connection.execute("COMMIT")

    def close(self) -> None:
        """Close it; SQLite takes the -wal away."""
        self.connection.close()

    def __enter__(self) -> "MadeNode":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _add(self, block: BlockSpendInfo) -> None:
        execute = self.connection.execute
        kept = {}
        for name in block.spends:
            select = "SELECT puzzle_hash, amount FROM coin_record WHERE coin_name = ?"
            kept[bytes(name)] = execute(select, (name,)).fetchone()
        coins = {coin.name(): coin for coin in block.confirms}
        for name, coin in coins.items():
            parent = coin.parent_coin_name
            amount = coin.amount.to_bytes(8, "big")
            like = coins.get(parent)
            known = (like.puzzle_hash, like.amount.to_bytes(8, "big")) if like else kept.get(parent)
            is_same = parent in block.spends and known == (coin.puzzle_hash, amount)
            row = (name, block.index, -is_same, is_reward(parent), coin.puzzle_hash, parent, amount)
            execute(f"INSERT INTO coin_record VALUES({'?,' * 7}?)", (*row, block.timestamp))
        for name in block.spends:
            spend = "UPDATE coin_record SET spent_index = ? WHERE coin_name = ?"
            execute(spend, (block.index, name))


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    """All of coin_record, by name."""
    return _fetched(path, _ROWS)


def indexes_of(path: Path) -> set[str]:
    """The names of its indexes."""
    return {name for (name,) in _fetched(path, _INDEXES)}


def _fetched(path: Path, select: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    connection.text_factory = bytes if select is _ROWS else str  # where a text is no text
    try:
        return connection.execute(select).fetchall()
    finally:
        connection.close()
