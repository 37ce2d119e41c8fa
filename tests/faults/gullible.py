"""Twins of the reference model that each fall to one attack: the adversary's own test.

They keep nothing on disk: a close changes nothing, and who opens one again has the same.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import ClassVar

from cdb.contract.blocks import BlockSpendInfo, check_against_state, named_block
from cdb.contract.coins import Coin, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.errors import DuplicateCoinError, UnsupportedError
from cdb.schemas.memory import MemorySchema
from cdb.testing.adversary import FEW

_ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5)


class Gullible(MemorySchema):
    """None of their faults."""

    def close(self) -> None:
        """It stays."""


class Confuses(Gullible):
    """Takes coins for each other of which something is the same."""

    KEY: ClassVar[Callable[[Coin], Hashable]]

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        key = type(self).KEY
        there = {key(coin): coin for coin in self._coins.values()}
        for coin in block_spend_info.confirms:
            if there.setdefault(key(coin), coin) != coin:
                raise DuplicateCoinError("it looks alike", block_spend_info.index, coin.name())
        super().accept_block(block_spend_info)


def _sum_of_products(parent: bytes32) -> int:
    words = [int.from_bytes(parent[at : at + 8], "big") for at in range(0, 32, 8)]
    return sum(word * odd for word, odd in zip(words, _ODD, strict=True)) % 2**64


class KnowsHeads(Confuses):
    """Goes by a parent's first bytes, and by its last."""

    KEY = lambda coin: (coin.parent_coin_name[:16], coin.parent_coin_name[31:], *_rest(coin))  # noqa: E731


class KnowsTails(Confuses):
    """Goes by a parent's last bytes, and by its first."""

    KEY = lambda coin: (coin.parent_coin_name[16:], coin.parent_coin_name[:1], *_rest(coin))  # noqa: E731


class AddsUp(Confuses):
    """Goes by a sum of products, in which leading bits carry nothing along."""

    KEY = lambda coin: (_sum_of_products(coin.parent_coin_name), *_rest(coin))  # noqa: E731


class KnowsBuckets(Confuses):
    """Goes by a parent's first bytes modulo a number, and by some of its last."""

    KEY = lambda coin: (_bucket(coin.parent_coin_name), *_rest(coin))  # noqa: E731


def _bucket(parent: bytes32) -> tuple[int, bytes, int]:
    return int.from_bytes(parent[:8], "big") % 172_933, parent[16:30], parent[31]


class KnowsShortNames(Confuses):
    """Goes by a name's first 24 bits."""

    KEY = lambda coin: coin.name()[:3]  # noqa: E731


class KnowsShortAmounts(Confuses):
    """Goes by parent, puzzle hash, and the last two bytes of the amount."""

    KEY = lambda coin: (coin.parent_coin_name, coin.puzzle_hash, coin.amount % 2**16)  # noqa: E731


def _rest(coin: Coin) -> tuple[bytes32, int]:
    return coin.puzzle_hash, coin.amount


class SplitsBits(Gullible):
    """Keeps the last half of parents in a tree with a level a bit, and can't go deep."""

    LEVELS = 126

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        super().accept_block(block_spend_info)
        halves = {coin.parent_coin_name[16:] for coin in self._coins.values()}
        numbers = sorted(int.from_bytes(half, "big") for half in halves)
        for one, other in pairwise(numbers):
            assert (one ^ other).bit_length() > 128 - self.LEVELS, "too deep"


class CountsInOneByte(Gullible):
    """Has room for so many coins of one puzzle hash."""

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        super().accept_block(block_spend_info)
        ((_, most),) = Counter(coin.puzzle_hash for coin in self._coins.values()).most_common(1)
        assert most <= 2 * FEW, "too many"


class TrustsFamilies(Gullible):
    """Believes that a coin whose parent the block spends is new."""

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        block = named_block(block_spend_info, self.last_block_index)
        spent = [
            self._spent.get(name, 0) if name in self._coins else None
            for name in block.outside_spends
        ]
        spends = set(block.spends)
        exists = [
            name in self._coins and coin.parent_coin_name not in spends
            for name, coin in zip(block.names, block.confirms, strict=True)
        ]
        check_against_state(block, spent, exists)
        self._apply(block)


class KeepsTheAbandoned(Gullible):
    """Lets coins be spent that a rewind took back, on a branch that has others."""

    def __init__(self) -> None:
        super().__init__()
        self._gone: set[bytes32] = set()

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        before = set(self._coins)
        super().rewind_to_block_index(block_index)
        if self.last_block_index:
            self._gone |= before - self._coins.keys()

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        gone = self._gone - self._coins.keys()
        spends = [name for name in block_spend_info.spends if name not in gone]
        index, timestamp = block_spend_info.index, block_spend_info.timestamp
        super().accept_block(BlockSpendInfo(index, timestamp, spends, block_spend_info.confirms))


class LooksAhead(Gullible):
    """Knows all coins of a pack from its beginning."""

    def accept_packed(self, packed: PackedBlocks) -> None:
        """See cdb.contents.loader.accept."""
        blocks = [packed.block(place) for place in range(len(packed))]
        coming = {coin.name() for block in blocks for coin in block.confirms}
        for block in blocks:
            own = {coin.name() for coin in block.confirms}
            late = [name in coming - own and name not in self._coins for name in block.spends]
            spends = [name for name, is_late in zip(block.spends, late, strict=True) if not is_late]
            super().accept_block(
                BlockSpendInfo(block.index, block.timestamp, spends, block.confirms)
            )


class SpendsWhatIsNear(Gullible):
    """Of names that nobody has, spends the one that differs in the last bit."""

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        near = {bytes([*name[:31], name[31] ^ 1]): name for name in self._coins}
        spends = [near.get(name, name) for name in block_spend_info.spends]
        index, timestamp = block_spend_info.index, block_spend_info.timestamp
        super().accept_block(BlockSpendInfo(index, timestamp, spends, block_spend_info.confirms))


class TakesFewSpends(Gullible):
    """Has room for so many names in one statement."""

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        if len(block_spend_info.spends) > 2 * FEW:
            raise UnsupportedError("too many variables")
        super().accept_block(block_spend_info)


class IsSigned(Gullible):
    """Has no room for an index that it is asked for."""

    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """See Schema."""
        block_index.to_bytes(8, "big", signed=True)
        return super().block_info_for_block_index(block_index)


class Probes(Gullible):
    """Gives right answers, and steps through all that has the same sum to find a coin."""

    steps = 0

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        super().accept_block(block_spend_info)
        sums = Counter(_sum_of_products(c.parent_coin_name) for c in block_spend_info.confirms)
        self.steps += sum(count * count for count in sums.values())
