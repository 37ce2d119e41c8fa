"""A node's database with its coins in cdb, as cdb.chia makes it, without chia."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.durability import Durability
from cdb.contract.packed import pack_unnamed
from cdb.node import ops_table
from cdb.node.log import log_path_of, root_of
from cdb.node.operation import Block, Operation, Tip
from cdb.schemas import coin_log

TABLES = """
    CREATE TABLE database_version(version int);
    INSERT INTO database_version VALUES (2);
    CREATE TABLE full_blocks(header_hash blob PRIMARY KEY, prev_hash blob, height bigint,
        sub_epoch_summary blob, is_fully_compactified tinyint, in_main_chain tinyint,
        block blob, block_record blob);
    CREATE TABLE current_peak(key int PRIMARY KEY, hash blob);
    CREATE TABLE hints(coin_id blob, hint blob, UNIQUE (coin_id, hint));
    CREATE TABLE coin_record(kept_in_cdb TEXT);
"""
PEAK = b"\x09" * 32


def make_node(
    file: Path, blocks: Sequence[BlockSpendInfo], *, n_rows: int = 5, n_behind: int = 2
) -> None:
    """Make a node's file with all the blocks, and its coins.

    n_rows: how many of the newest blocks cdb_ops has; n_behind: how many of them the log lacks. The
    node's peak is two heights above the newest of them, without transactions.
    """
    log_path = log_path_of(file)
    with coin_log.indexed(log_path, durability=Durability.PROCESS) as log:
        for block in blocks[: len(blocks) - n_behind]:
            log.accept_block(block)
    of_log = [Block.of_packed(pack_unnamed([block])) for block in blocks]
    tips = [root_of(log_path), *(block.tip for block in of_log)]
    rows = [
        Operation(number, block.height, tip, block)
        for number, (block, tip) in enumerate(zip(of_log, tips, strict=False), 1)
    ]
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(TABLES)
        connection.execute(ops_table.CREATE)
        kept = [ops_table.values_of(row) for row in rows[len(rows) - n_rows :]]
        connection.executemany(ops_table.INSERT, kept)
        set_peak(connection, blocks[-1].index + 2, blocks[-1].index)
        connection.commit()


def go_on(file: Path, blocks: Sequence[BlockSpendInfo], tip: Tip) -> None:
    """Add rows of blocks that follow on the tip, as a node does it that was killed just then."""
    with closing(sqlite3.connect(file)) as connection, connection:
        [(number,)] = connection.execute("SELECT max(number) FROM cdb_ops")
        for block in (Block.of_packed(pack_unnamed([each])) for each in blocks):
            number += 1
            operation = Operation(number, block.height, tip, block)
            connection.execute(ops_table.INSERT, ops_table.values_of(operation))
            tip = block.tip


def set_peak(connection: sqlite3.Connection, height: int, transaction_height: int) -> None:
    """Make this the peak; records of blocks are as long as chia's, and zeros but for two fields."""
    has_output = height % 2
    is_transaction_block = height == transaction_height
    record = bytes(201) + bytes([has_output]) + bytes(100 * has_output) + bytes(32 + 32 + 8 + 74)
    record += transaction_height.to_bytes(4, "big") + bytes([is_transaction_block])
    connection.execute("DELETE FROM full_blocks WHERE header_hash = ?", (PEAK,))
    connection.execute(
        "INSERT INTO full_blocks VALUES (?, ?, ?, NULL, 0, 1, ?, ?)",
        (PEAK, PEAK, height, b"", record + bytes(200)),
    )
    connection.execute("INSERT OR REPLACE INTO current_peak VALUES (0, ?)", (PEAK,))


def roll_back(file: Path, height: int, tip: Tip) -> None:
    """Add a row that takes away all blocks above a height, on the block that is newest then."""
    with closing(sqlite3.connect(file)) as connection:
        [(number,)] = connection.execute("SELECT max(number) FROM cdb_ops")
        operation = Operation(number + 1, height + 1, tip, None)
        connection.execute(ops_table.INSERT, ops_table.values_of(operation))
        set_peak(connection, tip.height, tip.height)
        connection.commit()


def tip_of(block: BlockSpendInfo) -> Tip:
    """What a block is to the operations that stand on it."""
    return Block.of_packed(pack_unnamed([block])).tip
