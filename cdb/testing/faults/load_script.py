"""Scripts in the shape of loads: packs of many blocks, forks, and blocks that must be refused.

A large pack has more bytes than a schema writes at once. What follows it at once is drawn: a close,
a flush, a rewind into it. On the branch after a rewind rows and index entries of the abandoned one
may be left over: blocks that spend its coins are offered, and others that break a rule, in the
middle of packs and alone.
"""

from collections.abc import Iterator
from itertools import count
from random import Random

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import Coin, bytes32
from cdb.schemas.memory import MemorySchema
from cdb.testing.chains import EDGE_AMOUNTS, Chain, block_at, child, random_block, reward
from cdb.testing.crafts import crafted_coins
from cdb.testing.faults.steps import Accept, Close, Flush, Rewind, Settle, Step
from cdb.testing.side_by_side import refusal_of

LARGE_PACK_COINS = (1_000, 1_400)
"""At least 68 bytes each: beyond the 64 KiB from which coin_log writes in a thread of its own."""
BRANCH_COINS = (400, 600)
SMALL_PACK_COINS = (5, 60)
PACK_BLOCKS = (3, 9)
SPENDS = 40
EARLY_CHILDREN = 3
CRAFTED = 30
_EARLY = 7
_REWARDS = 1_000_000
"""Other ones than random_block's."""


def load_steps(random: Random, length: int) -> list[Step]:
    """The steps of a load: four scenes in any order, so many times."""
    load = _Load(random)
    scenes = [load.closes, load.flushes, load.forks, load.rests]
    for _ in range(length):
        random.shuffle(scenes)
        for scene in scenes:
            scene()
    load.steps.append(Close())
    return load.steps


class _Load:
    """Steps so far, the chain that they have made, and the coins that were abandoned on the way."""

    def __init__(self, random: Random) -> None:
        self.steps: list[Step] = []
        self._random = random
        self._chain = Chain()
        self._model = MemorySchema()
        self._packs = count(1)
        self._abandoned: dict[bytes32, None] = {}
        self._early: dict[bytes32, Coin] = {}  # by their parents

    def closes(self) -> None:
        """Nothing is flushed before the close."""
        self._pack(LARGE_PACK_COINS)
        self.steps.append(Close())

    def flushes(self) -> None:
        """A flush at once, and small packs behind it."""
        self._pack(LARGE_PACK_COINS)
        self.steps.append(Flush(in_steps=True))
        self._pack(SMALL_PACK_COINS)

    def rests(self) -> None:
        """Blocks that come alone, and time to compact."""
        for _ in range(3):
            self._accept(random_block(self._chain, self._random), None)
        self.steps.append(Settle())

    def forks(self) -> None:
        """Another branch takes the place of some blocks, and their coins are spent on it."""
        self._pack(LARGE_PACK_COINS)
        if self._random.random() < 0.5:
            self.steps.append(Flush())
        self._rewind(self._random.choice(self._chain.blocks[-PACK_BLOCKS[0] :]).index - 1)
        self._pack(BRANCH_COINS)
        self._attempt_packed()
        ends: list[Step] = [Flush(), Settle(), Close()]
        self.steps.append(self._random.choice(ends))
        self._attempt_packed()
        self._accept(random_block(self._chain, self._random), None)
        bad, _ = self._spending_abandoned()
        self._attempt([bad], None)

    def _pack(self, coins: tuple[int, int]) -> None:
        """Blocks with so many coins together, in one call."""
        number, left = next(self._packs), self._random.randint(*coins)
        for blocks_left in range(self._random.randint(*PACK_BLOCKS), 0, -1):
            confirms = self._random.randint(0, 2 * left // blocks_left) if blocks_left > 1 else left
            block = self._block(confirms)
            self._accept(block, number)
            left = max(left - len(block.confirms), 0)

    def _block(self, least_confirms: int) -> BlockSpendInfo:
        """A valid block that can follow, with old, young and ephemeral spends."""
        random, chain = self._random, self._chain
        block = random_block(chain, random)
        index = block.index
        spendable = [name for name in chain.unspent if name not in set(block.spends)]
        old = random.sample(spendable, min(len(spendable), SPENDS)) if index else []
        confirms = [*block.confirms, *(child(name, 0, random.choice(EDGE_AMOUNTS)) for name in old)]
        confirms += self._early_children(set(spendable) - set(old))
        there = {coin.name() for coin in confirms}
        for coin in crafted_coins(random, CRAFTED):
            if not self._is_there(coin.name()) and coin.name() not in there:
                confirms.append(coin)
        rewards = max(least_confirms - len(confirms), 0)
        first = random.randrange(_REWARDS)
        confirms += [reward(index, _REWARDS + first + n, n) for n in range(rewards)]
        return BlockSpendInfo(index, block.timestamp, [*block.spends, *old], confirms)

    def _early_children(self, parents: set[bytes32]) -> Iterator[Coin]:
        """Coins whose parents are unspent, and stay so for now."""
        for parent in self._random.sample(sorted(parents), min(len(parents), EARLY_CHILDREN)):
            coin = child(parent, _EARLY)
            if not self._is_there(coin.name()):
                self._early[parent] = coin
                yield coin

    def _is_there(self, name: bytes32) -> bool:
        return name in self._chain.unspent or name in self._chain.spent

    def _accept(self, block: BlockSpendInfo, pack: int | None) -> None:
        self._model.accept_block(block)
        self._chain.append(block)
        self.steps.append(Accept(block, pack))

    def _rewind(self, index: int) -> None:
        before = self._chain
        self._chain = before.up_to(index)
        gone = [name for name in before.names if not self._is_there(name)]
        self._abandoned.update(dict.fromkeys(gone))
        self._model.rewind_to_block_index(index)
        self.steps.append(Rewind(index))

    def _attempt_packed(self) -> None:
        """A pack with a block in its middle that breaks a rule."""
        number = next(self._packs)
        for _ in range(self._random.randint(0, 3)):
            self._accept(self._block(self._random.randint(*SMALL_PACK_COINS)), number)
        make = self._random.choice(
            [
                self._spending_abandoned,
                self._spending_abandoned,
                self._spending_again,
                self._spending_what_comes_later,
                self._confirming_an_early_child_again,
            ]
        )
        self._attempt(list(make()), number)

    def _attempt(self, blocks: list[BlockSpendInfo], pack: int | None) -> None:
        """Offer blocks, the first of which breaks a rule."""
        refusal = refusal_of(lambda: self._model.accept_block(blocks[0]))
        assert refusal is not None
        self.steps += [Accept(block, pack, refusal) for block in blocks]

    def _spending_abandoned(self) -> tuple[BlockSpendInfo, BlockSpendInfo]:
        gone = [name for name in self._abandoned if not self._is_there(name)]
        return self._breaking([self._random.choice(gone)])

    def _spending_again(self) -> tuple[BlockSpendInfo, BlockSpendInfo]:
        return self._breaking([self._random.choice(list(self._chain.spent))])

    def _spending_what_comes_later(self) -> tuple[BlockSpendInfo, BlockSpendInfo]:
        _, later = self._breaking([])
        return self._breaking([later.confirms[0].name()])

    def _confirming_an_early_child_again(self) -> tuple[BlockSpendInfo, BlockSpendInfo]:
        early = [
            (parent, coin)
            for parent, coin in self._early.items()
            if parent in self._chain.unspent and self._is_there(coin.name())
        ]
        if not early:
            return self._spending_abandoned()
        parent, coin = self._random.choice(early)
        return self._breaking([parent], [coin])

    def _breaking(
        self, spends: list[bytes32], confirms: list[Coin] | None = None
    ) -> tuple[BlockSpendInfo, BlockSpendInfo]:
        """A block that does so, and one that would be valid in its place, but follows it."""
        index = self._chain.newest_index + 1
        bad = BlockSpendInfo(index, 0, spends, [*(confirms or []), reward(index)])
        return bad, block_at(index + 1)
