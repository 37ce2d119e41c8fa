"""Chains to test with, and a model of what can come next."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from random import Random

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import MAX_U32, MAX_U64, NAME_BYTES, REWARD_PREFIX_BYTES, Coin, bytes32
from cdb.errors import (
    AlreadySpentError,
    BlockError,
    BlockOrderError,
    DuplicateCoinError,
    InvalidBlockError,
    UnknownCoinError,
)

EDGE_AMOUNTS = [0, 1, 127, 128, 255, 256, 2**31, 2**32, 2**63 - 1, 2**63, MAX_U64]
MAX_SPENDS = 4
MAX_REWARDS = 5


def hash_of(*parts: object) -> bytes32:
    """32 bytes that stand for these values: a made-up name or puzzle hash."""
    return bytes32(hashlib.sha256(repr(parts).encode()).digest())


FARMERS = [hash_of("farmer", n) for n in range(3)]


def reward(index: int, n: int = 0, amount: int = 1) -> Coin:
    """A coin without a parent in the chain; each (index, n) gives another one."""
    return Coin(hash_of("reward", index, n), FARMERS[n % 3], amount)


def paid(height: int, kind: int = 0, amount: int = 1) -> Coin:
    """A coin with the parent of a real reward: a height's, of one of any number of kinds."""
    prefix = hash_of("network", kind)[:REWARD_PREFIX_BYTES]
    parent = bytes32(prefix + height.to_bytes(NAME_BYTES - REWARD_PREFIX_BYTES, "big"))
    return Coin(parent, hash_of("farmer", kind), amount)


@lru_cache(maxsize=64)
def _wallet(n: int) -> bytes32:
    return hash_of("wallet", n)


def child(parent: bytes32, n: int = 0, amount: int = 1) -> Coin:
    """The n-th child of a coin."""
    return Coin(parent, _wallet(n), amount)


PAYEE = hash_of("payee")


def coins_of_payee(n: int) -> list[Coin]:
    """n coins of one puzzle hash, PAYEE, and of as many parents that never come."""
    return [Coin(hash_of("payer", place), PAYEE, 1) for place in range(n)]


def block_at(index: int, n: int = 0, timestamp: int = 0, *, coins: int = 1) -> BlockSpendInfo:
    """A block of rewards alone: so many, from the n-th on."""
    return BlockSpendInfo(index, timestamp, [], [reward(index, n + m) for m in range(coins)])


def dealt(coins: Sequence[Coin], n_blocks: int, first: int = 1) -> list[BlockSpendInfo]:
    """Coins dealt out to blocks, of which the first has this index."""
    return [BlockSpendInfo(first + n, 0, [], [*coins[n::n_blocks]]) for n in range(n_blocks)]


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

    def above(self, index: int) -> list[BlockSpendInfo]:
        """Its blocks with an index > index."""
        return [block for block in self.blocks if block.index > index]

    def grown(self, n: int, make: "Callable[[Chain], BlockSpendInfo]") -> "Chain":
        """Another chain, with so many blocks more: each is made to follow on those before it."""
        chain = self.up_to(self.newest_index)
        for _ in range(n):
            chain.append(make(chain))
        return chain

    def next(
        self, *, spends: Iterable[bytes32] = (), confirms: Iterable[Coin] = ()
    ) -> BlockSpendInfo:
        """A block at the next index."""
        return BlockSpendInfo(self.next_index, 0, [*spends], [*confirms])

    @property
    def next_index(self) -> int:
        """The index behind the newest; 1 in an empty chain, as block 0 can spend nothing."""
        return max(self.newest_index, 0) + 1

    @property
    def newest_index(self) -> int:
        """The newest block's index; -1 in an empty chain."""
        return self.blocks[-1].index if self.blocks else -1

    @property
    def names(self) -> list[bytes32]:
        """The names of all coins, spent or not."""
        return [*self.unspent, *self.spent]


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


def _nearly_known(chain: Chain, block: BlockSpendInfo) -> BlockSpendInfo | None:
    for coin in [*chain.unspent.values()][-1:] if block.index else []:
        sibling = Coin(coin.parent_coin_name, coin.puzzle_hash, coin.amount ^ 1 << 63).name()
        known = {*chain.unspent, *chain.spent, *(each.name() for each in block.confirms)}
        if sibling not in known:
            return _with(block, spends=[sibling])
    return None


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
    "unknown sibling": Breach(UnknownCoinError, _nearly_known),
    "spent before": Breach(AlreadySpentError, _spend_again),
    "spent twice": Breach(AlreadySpentError, _spend_twice),
    "confirmed before": Breach(DuplicateCoinError, _confirm_again),
    "confirmed twice": Breach(DuplicateCoinError, _confirm_twice),
}


def breaches(chain: Chain, block: BlockSpendInfo) -> list[tuple[BlockSpendInfo, type[BlockError]]]:
    """What the block can be made into that breaks exactly one rule, and the error that follows."""
    return [
        (broken, breach.error)
        for breach in BREACHES.values()
        if (broken := breach.make(chain, block)) is not None
    ]


def random_block(chain: Chain, random: Random) -> BlockSpendInfo:
    """A valid block that can follow: old and ephemeral spends, edge amounts."""
    index = chain.newest_index + random.randint(1, 3)
    unspent = list(chain.unspent) if index else []
    spends = random.sample(unspent, min(len(unspent), random.randint(0, MAX_SPENDS)))
    amounts = iter(lambda: random.choice(EDGE_AMOUNTS), None)
    # Of so many rewards at an index, another branch takes others.
    rewards = random.sample(range(1000), random.randint(0, MAX_REWARDS))
    confirms = [reward(index, n, next(amounts)) for n in rewards]
    confirms += [paid(index, kind) for kind in random.sample(range(3), random.randint(0, 3))]
    confirms += [child(name, n, next(amounts)) for name in spends for n in range(2)]
    if confirms and index:
        ephemeral = random.choice(confirms).name()
        spends.append(ephemeral)
        confirms.append(child(ephemeral, 0, next(amounts)))
    return BlockSpendInfo(index, random.getrandbits(64), spends, confirms)


def random_chain(random: Random, n_blocks: int) -> Chain:
    """A chain of such blocks."""
    return Chain().grown(n_blocks, lambda chain: random_block(chain, random))


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


def other_branch(chain: Chain, n_blocks: int, most_coins: int = 0) -> Chain:
    """Some blocks of sample_chain, and behind them others than it has there, which spend old coins.

    most_coins: so many of each are coins that sample_chain makes later.
    """
    there = {*chain.names}
    coins = [coin for block in sample_chain().blocks for coin in block.confirms]
    later = (coin for coin in coins if coin.name() not in there)
    branch = chain.up_to(chain.newest_index)
    for n in range(n_blocks):
        index, spends = branch.newest_index + 1 + n % 2, [*branch.unspent][1:4]
        own = [reward(index, 70 + n), *(child(name, 7) for name in spends[:1])]
        branch.append(BlockSpendInfo(index, n, spends, [*own, *islice(later, most_coins)]))
    return branch
