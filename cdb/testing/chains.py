"""Chains to test with: a model of what can come next, and Hypothesis strategies over it."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hypothesis import strategies as st

from cdb.blocks import BlockSpendInfo
from cdb.coins import MAX_U32, MAX_U64, Coin, bytes32
from cdb.errors import (
    AlreadySpentError,
    BlockError,
    BlockOrderError,
    DuplicateCoinError,
    InvalidBlockError,
    UnknownCoinError,
)

EDGE_AMOUNTS = [0, 1, 127, 128, 255, 256, 2**31, 2**32, 2**63 - 1, 2**63, MAX_U64]
MAX_COINS = 6


def hash_of(*parts: object) -> bytes32:
    """32 bytes that stand for these values: a made-up name or puzzle hash."""
    return bytes32(hashlib.sha256(repr(parts).encode()).digest())


def reward(index: int, n: int = 0, amount: int = 1) -> Coin:
    """A coin without a parent in the chain; each (index, n) gives another one."""
    return Coin(hash_of("reward", index, n), hash_of("farmer", n % 3), amount)


def child(parent: bytes32, n: int = 0, amount: int = 1) -> Coin:
    """The n-th child of a coin."""
    return Coin(parent, hash_of("wallet", n), amount)


@dataclass
class Chain:
    """Blocks that are valid one after the other, with what the next one can refer to."""

    blocks: list[BlockSpendInfo] = field(default_factory=list)
    unspent: dict[bytes32, Coin] = field(default_factory=dict)
    spent: dict[bytes32, Coin] = field(default_factory=dict)

    @classmethod
    def of(cls, blocks: Iterable[BlockSpendInfo]) -> "Chain":
        """The chain of these blocks."""
        chain = cls()
        for block in blocks:
            chain.append(block)
        return chain

    def append(self, block: BlockSpendInfo) -> None:
        """Add a block, which must be valid."""
        self.blocks.append(block)
        self.unspent.update({coin.name(): coin for coin in block.confirms})
        for name in block.spends:
            self.spent[name] = self.unspent.pop(name)

    def up_to(self, index: int) -> "Chain":
        """The chain of the blocks with an index ≤ index."""
        return Chain.of(block for block in self.blocks if block.index <= index)

    @property
    def newest_index(self) -> int:
        """The newest block's index; -1 in an empty chain."""
        return self.blocks[-1].index if self.blocks else -1

    @property
    def names(self) -> list[bytes32]:
        """The names of all coins, spent or not."""
        return [*self.unspent, *self.spent]


@st.composite
def next_blocks(draw: st.DrawFn, chain: Chain) -> BlockSpendInfo:
    """Any valid block that can follow: with gaps, ephemeral coins, edge amounts, or empty."""
    index = chain.newest_index + draw(st.integers(1, 3))
    timestamp = draw(st.sampled_from([0, 1_600_000_000, 2**63, MAX_U64]))
    spendable = list(chain.unspent) if index else []
    spends: list[bytes32] = []
    if spendable:
        spends = draw(st.lists(st.sampled_from(spendable), unique=True, max_size=4))
    confirms: dict[bytes32, Coin] = {}
    for n in range(draw(st.integers(0, MAX_COINS))):
        amount = draw(st.sampled_from(EDGE_AMOUNTS))
        parents = [*spends, *confirms] if index else []
        parent = draw(st.sampled_from([None, *parents]))
        coin = reward(index, n, amount) if parent is None else child(parent, n, amount)
        if coin.name() in chain.unspent or coin.name() in chain.spent:
            continue
        confirms[coin.name()] = coin
        if parent in confirms and parent not in spends:
            spends.append(parent)
    return BlockSpendInfo(index, timestamp, draw(st.permutations(spends)), [*confirms.values()])


@dataclass(frozen=True)
class Breach:
    """One way to break a rule: makes a valid block invalid, and the error that must follow.

    ``make`` returns None where the chain offers nothing to break the rule with.
    """

    error: type[BlockError]
    make: Callable[[Chain, BlockSpendInfo], BlockSpendInfo | None]


def _with(
    block: BlockSpendInfo,
    *,
    index: int | None = None,
    timestamp: int | None = None,
    spends: Iterable[bytes32] = (),
    confirms: Iterable[Coin] = (),
) -> BlockSpendInfo:
    return BlockSpendInfo(
        block.index if index is None else index,
        block.timestamp if timestamp is None else timestamp,
        [*block.spends, *spends],
        [*block.confirms, *confirms],
    )


def _spend_twice(chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo | None:
    return _with(block, spends=block.spends[:1]) if block.spends else None


def _spend_again(chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo | None:
    return _with(block, spends=[*chain.spent][-1:]) if chain.spent and block.index else None


def _confirm_twice(chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo | None:
    return _with(block, confirms=block.confirms[:1]) if block.confirms else None


def _confirm_again(chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo | None:
    known = [*chain.unspent.values(), *chain.spent.values()]
    return _with(block, confirms=known[:1]) if known else None


def _not_newer(chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo | None:
    return _with(block, index=chain.newest_index) if chain.newest_index > 0 else None


def _unknown(chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo | None:
    return _with(block, spends=[hash_of("nobody", block.index)]) if block.index else None


BREACHES = {
    "not newer": Breach(BlockOrderError, _not_newer),
    "index too large": Breach(InvalidBlockError, lambda _, b: _with(b, index=MAX_U32 + 1)),
    "timestamp too large": Breach(InvalidBlockError, lambda _, b: _with(b, timestamp=MAX_U64 + 1)),
    "amount too large": Breach(
        InvalidBlockError, lambda _, b: _with(b, confirms=[reward(b.index, 99, MAX_U64 + 1)])
    ),
    "amount negative": Breach(
        InvalidBlockError, lambda _, b: _with(b, confirms=[reward(b.index, 99, -1)])
    ),
    "block 0 spends": Breach(InvalidBlockError, lambda _, b: _with(b, index=0, spends=[hash_of()])),
    "unknown coin": Breach(UnknownCoinError, _unknown),
    "spent before": Breach(AlreadySpentError, _spend_again),
    "spent twice": Breach(AlreadySpentError, _spend_twice),
    "confirmed before": Breach(DuplicateCoinError, _confirm_again),
    "confirmed twice": Breach(DuplicateCoinError, _confirm_twice),
}


@st.composite
def invalid_blocks(draw: st.DrawFn, chain: Chain) -> tuple[BlockSpendInfo, type[BlockError]]:
    """A block that breaks exactly one rule, and the error that must follow."""
    block = draw(next_blocks(chain))
    possible = []
    for breach in BREACHES.values():
        broken = breach.make(chain, block)
        if broken is not None:
            possible.append((broken, breach.error))
    return draw(st.sampled_from(possible))


@st.composite
def valid_chains(draw: st.DrawFn, max_blocks: int = 12) -> Chain:
    """Chains of up to max_blocks blocks."""
    chain = Chain()
    for _ in range(draw(st.integers(0, max_blocks))):
        chain.append(draw(next_blocks(chain)))
    return chain


@st.composite
def invalid_chains(
    draw: st.DrawFn, max_blocks: int = 12
) -> tuple[Chain, BlockSpendInfo, type[BlockError]]:
    """A valid chain, a block that can't follow it, and the error that must follow."""
    chain = draw(valid_chains(max_blocks))
    block, error = draw(invalid_blocks(chain))
    return chain, block, error


def sample_chain(n_blocks: int = 40) -> Chain:
    """A fixed chain with gaps, empty blocks, and old, young and ephemeral spends."""
    chain = Chain()
    for i in range(n_blocks):
        index = 3 * i + (i % 2)
        confirms = [reward(index, n, EDGE_AMOUNTS[(i + n) % len(EDGE_AMOUNTS)]) for n in range(3)]
        spends: list[bytes32] = []
        if i:
            unspent = list(chain.unspent)
            spends = [*dict.fromkeys([unspent[0], unspent[-1], unspent[len(unspent) // 2]])]
            confirms += [child(name, n, i) for n, name in enumerate(spends)]
            ephemeral = confirms[-1].name()
            spends.append(ephemeral)
            confirms.append(child(ephemeral))
        if i % 10 == 9:
            spends, confirms = [], []
        chain.append(BlockSpendInfo(index, 1_600_000_000 + i, spends, confirms))
    return chain
