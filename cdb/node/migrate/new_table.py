"""A table in a node's form, written from a log: block by block, and a part at a time.

Each part is a transaction; what is written up to a height stays, as long as the log stays the same:
cdb_reverting notes its tip.
"""

import sqlite3
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from struct import iter_unpack
from typing import Any

from cdb.contents.packed_reads import packed_reads
from cdb.contract.coins import is_reward
from cdb.contract.packed import PackedBlocks
from cdb.contract.progress import Progress
from cdb.node.log import Log
from cdb.node.migrate.fast_forward import MARK, marked
from cdb.node.migrate.node_file import transaction
from cdb.node.migrate.verifying import spent_of
from cdb.node.operation import Tip
from cdb.node.own_tables import NEW_TABLE, NOTE_TABLE
from cdb.stores.node_table.table import create_coin_table
from cdb.stores.rows.sqlite import tables_of, to_signed

PART_COINS = 200_000
_INSERT = f"INSERT INTO {NEW_TABLE} VALUES(?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True)
class NewTable:
    """The table of a connection, and the log that it is written from."""

    connection: sqlite3.Connection
    log: Log

    def begin(self, tip: Tip) -> None:
        """Make it; or go on with one of the same log, whose newest block is the tip."""
        execute = self.connection.execute
        note = (tip.height, tip.digest)
        if {NEW_TABLE, NOTE_TABLE} <= tables_of(self.connection):
            noted = execute(f"SELECT height, digest FROM {NOTE_TABLE}").fetchall()
            if noted == [note]:
                return
        with transaction(self.connection):
            execute(f"DROP TABLE IF EXISTS {NEW_TABLE}")
            execute(f"DROP TABLE IF EXISTS {NOTE_TABLE}")
            execute(create_coin_table(NEW_TABLE))
            execute(f"CREATE TABLE {NOTE_TABLE}(height INTEGER, digest BLOB)")
            execute(f"INSERT INTO {NOTE_TABLE} VALUES(?, ?)", note)

    def fill(self, progress: Progress) -> None:
        """Write all blocks that it has not got."""
        done = self._height()
        part: list[PackedBlocks] = []
        for blocks in packed_reads(self.log).blocks():
            first = sum(index <= done for index in blocks.indices)
            progress(blocks.confirm_ends[first - 1] if first else 0)
            part.append(blocks.part(first, len(blocks)))
            if sum(each.n_confirms for each in part) >= PART_COINS:
                self._write(part, progress)
                part = []
        self._write(part, progress)

    def _height(self) -> int:
        """The height of the newest block that is written, whole; -1: none."""
        query = f"SELECT confirmed_index FROM {NEW_TABLE} ORDER BY rowid DESC LIMIT 1"
        row = self.connection.execute(query).fetchone()
        return -1 if row is None else int(row[0])

    def _write(self, part: list[PackedBlocks], progress: Progress) -> None:
        with transaction(self.connection):
            for blocks in part:
                self.connection.executemany(_INSERT, self._rows(blocks))
                progress(blocks.n_confirms)

    def _rows(self, blocks: PackedBlocks) -> Iterator[tuple[Any, ...]]:
        infos, _ = self.log.coin_infos_packed(bytes(blocks.names))
        spent = array("q", spent_of(infos).tolist())
        unspent = [place for place, height in enumerate(spent) if not height]
        for place in marked(self.log, blocks, unspent):
            spent[place] = MARK
        names = iter_unpack("32s", blocks.names)
        coins = iter_unpack("32s32s8s", blocks.confirms)
        start = 0
        for index, timestamp, end in zip(
            blocks.indices, blocks.timestamps, blocks.confirm_ends, strict=True
        ):
            signed = to_signed(timestamp)
            for place in range(start, end):
                (name,), (parent, puzzle_hash, amount) = next(names), next(coins)
                coinbase = int(is_reward(parent))
                yield name, index, spent[place], coinbase, puzzle_hash, parent, amount, signed
            start = end
