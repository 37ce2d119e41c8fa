"""A node's SQLite file, written as a node writes its coins; without chia, which can't run on it."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import is_reward
from cdb.contract.progress import Progress
from cdb.disk.files import publish, temporary
from cdb.errors import WrongDatabaseError, storage_errors
from cdb.stores.node_table.table import INDEX_SETS, create_coin_table
from cdb.stores.rows.sqlite import sqlite_errors

COIN_TABLES = (
    create_coin_table(),
    *INDEX_SETS["node"],
    "CREATE INDEX coin_record_ph_ff_unspent_idx ON coin_record(puzzle_hash, spent_index)"
    " WHERE spent_index = -1",
    "CREATE TABLE database_version(version int)",
    "INSERT INTO database_version VALUES(2)",
    "CREATE TABLE hints(coin_id blob, hint blob, UNIQUE (coin_id, hint))",
    "INSERT INTO hints VALUES(x'01', x'02')",
)
PEAK_TABLES = (
    "CREATE TABLE full_blocks(header_hash blob PRIMARY KEY, prev_hash blob, height bigint,"
    " sub_epoch_summary blob, is_fully_compactified tinyint, in_main_chain tinyint,"
    " block blob, block_record blob)",
    "CREATE TABLE current_peak(key int PRIMARY KEY, hash blob)",
)
_PEAK = b"\x09" * 32


def make_example(path: Path, blocks: Iterable[BlockSpendInfo], progress: Progress) -> None:
    """Make a node's file with these blocks, in one step.

    progress: of coins. Raises WrongDatabaseError where something is there, and StorageError.
    """
    if path.exists() or path.is_symlink():
        raise WrongDatabaseError(path, "something is here already; name a new path")
    unfinished, newest = temporary(path), -1
    with storage_errors(unfinished):
        unfinished.unlink(missing_ok=True)
    try:
        with sqlite_errors(unfinished), ExampleNode(unfinished) as node:
            for block in blocks:
                node.add(block)
                newest = block.index
                progress(len(block.confirms))
            for statement in PEAK_TABLES:
                node.connection.execute(statement)
            if newest >= 0:
                set_peak(node.connection, newest, newest)
        publish(path, durable=True)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


class ExampleNode:
    """The one who writes to a node's database; it is closed at the end of a with block."""

    def __init__(self, path: Path, blocks: Iterable[BlockSpendInfo] = ()) -> None:
        self.path = path
        is_new = not path.exists()
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA synchronous=OFF")
        if is_new:
            for statement in COIN_TABLES:
                self.connection.execute(statement)
            self.add(*blocks)

    def add(self, *blocks: BlockSpendInfo) -> None:
        """Add blocks in one transaction."""
        self.connection.execute("BEGIN")
        for block in blocks:
            self._add(block)
        self.connection.execute("COMMIT")

    def close(self) -> None:
        """Close it; SQLite takes the -wal away."""
        self.connection.close()

    def __enter__(self) -> Self:
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


def set_peak(connection: sqlite3.Connection, height: int, transaction_height: int) -> None:
    """Make this the peak; records of blocks are as long as chia's, and zeros but for two fields."""
    has_output = height % 2
    is_transaction_block = height == transaction_height
    record = bytes(201) + bytes([has_output]) + bytes(100 * has_output) + bytes(32 + 32 + 8 + 74)
    record += transaction_height.to_bytes(4, "big") + bytes([is_transaction_block])
    connection.execute("DELETE FROM full_blocks WHERE header_hash = ?", (_PEAK,))
    connection.execute(
        "INSERT INTO full_blocks VALUES (?, ?, ?, NULL, 0, 1, ?, ?)",
        (_PEAK, _PEAK, height, b"", record + bytes(200)),
    )
    connection.execute("INSERT OR REPLACE INTO current_peak VALUES (0, ?)", (_PEAK,))
