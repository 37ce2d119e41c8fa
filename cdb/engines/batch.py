"""Blocks on their way into coin rows: numbered, and checked against the coins before them."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, repeat, starmap
from operator import ge
from typing import NamedTuple

from cdb.coins import MAX_U32
from cdb.engines.sqlite import to_signed
from cdb.engines.stored import BlockRow, StoredCoin, block_checksum, pack_rows
from cdb.packed import PackedBlocks

_NAME = struct.Struct("32s")
_COIN = struct.Struct("32s32s8s")


class SpentCoin(NamedTuple):
    """A coin that a batch spends, and the block that spends it."""

    row: int
    spent_index: int
    puzzle_hash: bytes
    amount_bytes: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """Blocks that may follow, and whose coins get the rows first_row, first_row + 1, …

    names, coins (parent, puzzle hash, amount of 8 bytes): those of the confirms, in packed order.
    spent: the coins that are spent, by name, in packed order.
    """

    packed: PackedBlocks
    first_row: int
    names: list[bytes]
    coins: list[tuple[bytes, bytes, bytes]]
    spent: dict[bytes, SpentCoin]

    def block_indices(self) -> Iterator[int]:
        """The index of each coin's block."""
        return _for_each(self.packed.indices, self.packed.confirm_ends)

    def spent_indices(self) -> list[int]:
        """The spent index of each coin; 0 for those that stay unspent."""
        indices = [0] * len(self.names)
        for coin in self.spent.values():
            if coin.row >= self.first_row:
                indices[coin.row - self.first_row] = coin.spent_index
        return indices

    def updates(self) -> list[tuple[int, int]]:
        """(spent index, row) of the spent coins that older rows hold."""
        coins = self.spent.values()
        return [(coin.spent_index, coin.row) for coin in coins if coin.row < self.first_row]

    def block_rows(self) -> Iterator[BlockRow]:
        """The rows of the block table."""
        packed = self.packed
        spent_rows = [coin.row for coin in self.spent.values()]
        spends, confirms = memoryview(packed.spends), memoryview(packed.confirms)
        spent = first = 0
        for index, timestamp, spent_end, end in zip(
            packed.indices, packed.timestamps, packed.spend_ends, packed.confirm_ends, strict=True
        ):
            yield BlockRow(
                index,
                to_signed(timestamp),
                self.first_row + first,
                end - first,
                pack_rows(spent_rows[spent:spent_end]),
                block_checksum(
                    index,
                    timestamp,
                    spends[spent * _NAME.size : spent_end * _NAME.size],
                    confirms[first * _COIN.size : end * _COIN.size],
                ),
            )
            spent, first = spent_end, end


def plan_batch(
    packed: PackedBlocks,
    newest_index: int | None,
    first_row: int,
    stored: Callable[[Sequence[bytes]], Sequence[StoredCoin | None]],
) -> Batch | None:
    """The batch of these blocks; None when one of them breaks a rule.

    stored looks names up among the coins that are there already. The caller finds out which block
    breaks which rule: that is rare, and has to be exact rather than fast.
    """
    if not _in_order(packed, newest_index):
        return None
    names = [name for (name,) in _NAME.iter_unpack(packed.names)]
    spends = [name for (name,) in _NAME.iter_unpack(packed.spends)]
    own = dict(zip(names, range(first_row, first_row + len(names)), strict=True))
    outside = [name for name in spends if name not in own]
    if len(own) < len(names) or len(set(spends)) < len(spends):
        return None
    found = stored([*outside, *names])
    older = dict(zip(outside, found, strict=False))
    if any(coin is not None for coin in found[len(outside) :]):
        return None
    coins = list(_COIN.iter_unpack(packed.confirms))
    spent: dict[bytes, SpentCoin] = {}
    ends = _for_each([first_row + end for end in packed.confirm_ends], packed.spend_ends)
    indices = _for_each(packed.indices, packed.spend_ends)
    for name, index, end in zip(spends, indices, ends, strict=True):
        row = own.get(name)
        if row is None:
            coin = older[name]
            if coin is None or coin.spent_index:
                return None
            spent[name] = SpentCoin(coin.row, index, coin.puzzle_hash, coin.amount_bytes)
        elif row < end:
            _, puzzle_hash, amount_bytes = coins[row - first_row]
            spent[name] = SpentCoin(row, index, puzzle_hash, amount_bytes)
        else:
            return None
    return Batch(packed, first_row, names, coins, spent)


def _in_order(packed: PackedBlocks, newest_index: int | None) -> bool:
    first, last = packed.indices[0], packed.indices[-1]
    if newest_index is not None and first <= newest_index:
        return False
    if any(starmap(ge, pairwise(packed.indices))) or last > MAX_U32:
        return False
    return first > 0 or not packed.spend_ends[0]


def _for_each(values: Sequence[int], ends: Sequence[int]) -> Iterator[int]:
    """values[i] as often as block i has items, which end at ends[i]."""
    counts = (end - start for start, end in pairwise([0, *ends]))
    return chain.from_iterable(map(repeat, values, counts))
