"""Twins of the reference model that each fall to one attack: the adversary's own test.

They keep nothing on disk: a close changes nothing, and who opens one again has the same.
"""

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.contract.rules import check_against_state, named_block
from cdb.errors import DuplicateCoinError, UnsupportedError
from cdb.schemas.memory import MemorySchema
from cdb.testing.adversary import FEW
from tests.broken.table import Faults

_ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x27D4EB2F165667C5)
_LEVELS = 126


class Gullible(MemorySchema):
    """None of their faults."""

    steps = 0

    def close(self) -> None:
        """It stays."""


broken = Faults(__name__, Gullible)


def _checking(check: Callable[[Any, BlockSpendInfo], object]) -> dict[str, Any]:
    """It finds out too late what it has no room for."""

    def accept_block(store: Any, right: Any, block: BlockSpendInfo) -> None:
        right(block)
        check(store, block)

    return {"accept_block": accept_block}


def _confusing(key: Callable[[Coin], Hashable]) -> dict[str, Any]:
    """It takes coins for each other of which something is the same."""

    def accept_block(store: Any, right: Any, block: BlockSpendInfo) -> None:
        there = {key(coin): coin for coin in store._coins.values()}
        for coin in block.confirms:
            if there.setdefault(key(coin), coin) != coin:
                raise DuplicateCoinError("it looks alike", block.index, coin.name())
        right(block)

    return {"accept_block": accept_block}


def _confusing_parents(key: Callable[[bytes32], Hashable]) -> dict[str, Any]:
    """It takes parents for each other."""
    return _confusing(lambda coin: (key(coin.parent_coin_name), coin.puzzle_hash, coin.amount))


def _sum_of_products(parent: bytes32) -> int:
    words = [int.from_bytes(parent[at : at + 8], "big") for at in range(0, 32, 8)]
    return sum(word * odd for word, odd in zip(words, _ODD, strict=True)) % 2**64


def _split_bits(store: Any, block: BlockSpendInfo) -> None:
    halves = {coin.parent_coin_name[16:] for coin in store._coins.values()}
    for one, other in pairwise(sorted(int.from_bytes(half, "big") for half in halves)):
        assert (one ^ other).bit_length() > 128 - _LEVELS, "too deep"


def _count(store: Any, block: BlockSpendInfo) -> None:
    ((_, most),) = Counter(coin.puzzle_hash for coin in store._coins.values()).most_common(1)
    assert most <= 2 * FEW, "too many"


def _probe(store: Any, block: BlockSpendInfo) -> None:
    sums = Counter(_sum_of_products(coin.parent_coin_name) for coin in block.confirms)
    store.steps += sum(count * count for count in sums.values())


def _trust_families(store: Any, right: Any, taken: BlockSpendInfo) -> None:
    block = named_block(taken, store.last_block_index)
    coins, spends = store._coins, set(block.spends)
    spent = [store._spent.get(name, 0) if name in coins else None for name in block.outside_spends]
    exists = [
        name in coins and coin.parent_coin_name not in spends
        for name, coin in zip(block.names, block.confirms, strict=True)
    ]
    check_against_state(block, spent, exists)
    store._apply(block)


def _look_ahead(store: Any, packed: PackedBlocks) -> None:
    blocks = [packed.block(place) for place in range(len(packed))]
    coming = {coin.name() for block in blocks for coin in block.confirms}
    for block in blocks:
        late = coming - {coin.name() for coin in block.confirms} - store._coins.keys()
        store.accept_block(replace(block, spends=[n for n in block.spends if n not in late]))


def _spend_near(store: Any, right: Any, block: BlockSpendInfo) -> None:
    near = {bytes([*name[:31], name[31] ^ 1]): name for name in store._coins}
    right(replace(block, spends=[near.get(name, name) for name in block.spends]))


def _take_few(store: Any, right: Any, block: BlockSpendInfo) -> None:
    if len(block.spends) > 2 * FEW:
        raise UnsupportedError("too many variables")
    right(block)


broken(
    _confusing_parents,
    # By a parent's first bytes, and its last.
    KnowsHeads=lambda parent: (parent[:16], parent[31:]),
    # By a parent's last bytes, and its first.
    KnowsTails=lambda parent: (parent[16:], parent[:1]),
    # By a sum of products, in which leading bits carry nothing along.
    AddsUp=_sum_of_products,
    # By a parent's first bytes modulo a number, and some of its last.
    KnowsBuckets=lambda parent: (
        *(int.from_bytes(parent[:8], "big") % 172_933, parent[16:30], parent[31]),
    ),
)
broken(
    _confusing,
    # By a name's first 24 bits.
    KnowsShortNames=lambda coin: coin.name()[:3],
    # By parent, puzzle hash, and the last two bytes of the amount.
    KnowsShortAmounts=lambda coin: (coin.parent_coin_name, coin.puzzle_hash, coin.amount % 2**16),
)
broken(
    _checking,
    # It keeps the last half of parents in a tree with a level a bit, and can't go deep.
    SplitsBits=_split_bits,
    # It has room for so many coins of one puzzle hash.
    CountsInOneByte=_count,
    # It gives right answers, and steps through all that has the same sum to find a coin.
    Probes=_probe,
)
broken(
    "accept_block",
    # It believes that a coin whose parent the block spends is new.
    TrustsFamilies=_trust_families,
    # It has room for so many names in one statement.
    TakesFewSpends=_take_few,
    # Of names that nobody has, it spends the one that differs in the last bit.
    SpendsWhatIsNear=_spend_near,
)
# It knows all coins of a pack from its beginning.
broken("accept_packed", LooksAhead=_look_ahead)
broken(
    "block_info_for_block_index",
    # It has no room for an index that it is asked for.
    IsSigned=lambda _, right, index: (
        right(index) if index.to_bytes(8, "big", signed=True) else None
    ),
)


@broken.keep
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
        super().accept_block(replace(block_spend_info, spends=spends))
