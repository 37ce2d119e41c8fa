"""A node's database with its coins in cdb, as cdb.chia makes it, without chia."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.durability import Durability
from cdb.contract.packed import pack_unnamed
from cdb.node import ops_table
from cdb.node.example import PEAK_TABLES, set_peak
from cdb.node.log import log_path_of, root_of
from cdb.node.operation import Block, Operation, Tip
from cdb.schemas import coin_log

TABLES = """
    CREATE TABLE database_version(version int);
    INSERT INTO database_version VALUES (2);
    CREATE TABLE hints(coin_id blob, hint blob, UNIQUE (coin_id, hint));
    CREATE TABLE coin_record(kept_in_cdb TEXT);
"""


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
        for statement in PEAK_TABLES:
            connection.execute(statement)
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
