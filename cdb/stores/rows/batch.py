"""Blocks on their way into coin rows: numbered, and checked against the coins before them.

A coin's name contains its parent's, and a coin is spent once. So a coin whose parent is spent,
validly, by the very block that confirms it can exist already only if it was confirmed once before
by a block that did not spend the parent: as an early child. Hence only early children are looked
up, and the children of the spends that had an early child before; see coin_table.py.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat, starmap
from operator import ge
from typing import NamedTuple, Protocol

from cdb.contract.coins import MAX_U32
from cdb.contract.packed import PackedBlocks
from cdb.stores.rows.sqlite import to_signed
from cdb.stores.rows.stored import BlockRow, block_checksum, pack_rows

NAME = struct.Struct("32s")
COIN = struct.Struct("32s32s8s")
_PARENT = struct.Struct("32s40x")


class KnownCoins(Protocol):
    """The coins that are there already, as far as new blocks are checked against them."""

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """The row of each name, in the order asked; None where there is no such coin."""
        ...

    def any_spent(self, rows: Sequence[int]) -> bool:
        """Whether a coin of these rows is spent."""
        ...

    def may_have_child(self, parents: Sequence[bytes]) -> set[bytes]:
        """Those of the parents that may have a child."""
        ...

    def may_have_early_child(self, names: Sequence[bytes]) -> set[bytes]:
        """Those of the names that may be the parent of an early child."""
        ...


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


def plan_batch(
    packed: PackedBlocks, newest_index: int | None, first_row: int, known: KnownCoins
) -> Batch | None:
    """The batch of these blocks; None when one of them breaks a rule.

    The caller finds out which block breaks which rule: that is rare, and has to be exact rather
    than fast.
    """
    if not _in_order(packed, newest_index):
        return None
    names, spends = _unpacked(NAME, packed.names), _unpacked(NAME, packed.spends)
    rows = dict(zip(names, range(first_row, first_row + len(names)), strict=True))
    spent_indices = dict(zip(spends, for_each(packed.indices, packed.spend_ends), strict=True))
    if len(rows) < len(names) or len(spent_indices) < len(spends):
        return None
    own = [rows.get(name) for name in spends]
    ends = for_each([first_row + end for end in packed.confirm_ends], packed.spend_ends)
    if any(row is not None and row >= end for row, end in zip(own, ends, strict=True)):
        return None

    parents = _unpacked(_PARENT, packed.confirms)
    block_indices = for_each(packed.indices, packed.confirm_ends)
    early = [
        parent
        for parent, index in zip(parents, block_indices, strict=True)
        if spent_indices.get(parent) != index
    ]
    suspects = known.may_have_child(early) | known.may_have_early_child(spends)
    doubtful = (
        [name for name, parent in zip(names, parents, strict=True) if parent in suspects]
        if suspects
        else []
    )

    outside = [name for name, row in zip(spends, own, strict=True) if row is None]
    found = known.find([*outside, *doubtful])
    older = [row for row in found[: len(outside)] if row is not None]
    if len(older) < len(outside) or any(row is not None for row in found[len(outside) :]):
        return None
    if known.any_spent(older):
        return None
    oldest_first = iter(older)
    spent_rows = [next(oldest_first) if row is None else row for row in own]
    return Batch(packed, first_row, rows, spent_rows, early)


def for_each(values: Iterable[int], ends: Sequence[int]) -> Iterator[int]:
    """values[i] as often as block i has items, which end at ends[i]."""
    counts = (end - start for start, end in pairwise([0, *ends]))
    return chain.from_iterable(map(repeat, values, counts))


def _in_order(packed: PackedBlocks, newest_index: int | None) -> bool:
    first, last = packed.indices[0], packed.indices[-1]
    if newest_index is not None and first <= newest_index:
        return False
    if any(starmap(ge, pairwise(packed.indices))) or last > MAX_U32:
        return False
    return first > 0 or not packed.spend_ends[0]


def _unpacked(item: struct.Struct, packed: bytes | memoryview) -> list[bytes]:
    return [field for (field,) in item.iter_unpack(packed)]
