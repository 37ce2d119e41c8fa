"""Blocks on their way into coin rows, which are numbered and break no rule."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from cdb.contract.packed import PackedBlocks, for_each
from cdb.stores.rows.sqlite import to_signed
from cdb.stores.rows.stored import BlockRow, block_checksum, pack_rows

NAME = struct.Struct("32s")
COIN = struct.Struct("32s32s8s")


class Confirms(NamedTuple):
    """The coins of one block: they get the rows first_row … first_row + n_coins - 1."""

    block_index: int
    timestamp: int
    first_row: int
    n_coins: int
    packed: bytes | memoryview


@dataclass(frozen=True, slots=True)
class Batch:
    """Blocks that may follow, and whose coins get the rows first_row, first_row + 1, …

    rows: the row of each confirm by its name, in packed order.
    spent_rows: the row of each spend, in packed order.
    early_parents: the parents of the coins that are confirmed without their parent's spend.
    """

    packed: PackedBlocks
    first_row: int
    rows: dict[bytes, int]
    spent_rows: list[int]
    early_parents: list[bytes]

    def spends(self) -> Iterator[tuple[int, int]]:
        """(row, spent index) of each spend."""
        return zip(
            self.spent_rows, for_each(self.packed.indices, self.packed.spend_ends), strict=True
        )

    def confirms(self) -> Iterator[Confirms]:
        """What each block confirms."""
        packed, data = self.packed, memoryview(self.packed.confirms)
        start = 0
        for index, timestamp, end in zip(
            packed.indices, packed.timestamps, packed.confirm_ends, strict=True
        ):
            coins = data[COIN.size * start : COIN.size * end]
            yield Confirms(index, timestamp, self.first_row + start, end - start, coins)
            start = end

    def block_rows(self) -> Iterator[BlockRow]:
        """The rows of the block table."""
        spends = memoryview(self.packed.spends)
        start = 0
        for block, end in zip(self.confirms(), self.packed.spend_ends, strict=True):
            names = spends[NAME.size * start : NAME.size * end]
            yield BlockRow(
                block.block_index,
                to_signed(block.timestamp),
                block.first_row,
                block.n_coins,
                pack_rows(self.spent_rows[start:end]),
                block_checksum(block.block_index, block.timestamp, names, block.packed),
            )
            start = end
