"""Blocks of made-up coins in the shape of mainnet's history, for replays of any length.

The model is mainnet's first 800,000 heights, with 13,423,068 coins and 5,840,449 spends:

- Transaction blocks come at mainnet's heights, and spends begin where mainnet's did, at height
  225,698, or proportionally sooner in a shorter replay. Until then there are only rewards.
- 9.5 % of the spends are of coins made in the very block (ephemeral coins, chains of them too),
  62 % are of other coins made in the last 4,000 heights, the rest are of any older coin, as far
  as there are such coins: a replay of less than 200,000 coins or so has few old ones.
- Blocks come in all sizes: spends and fan-outs have heavy tails, and a fan-out may be a dust
  storm of thousands of coins of 1 mojo.
- 45 % of the puzzle hashes have been seen before, a few thousand of them time and again.
- Some spends recreate their coin, as singletons do: a child with the same puzzle hash and amount.

Amounts look like mainnet's but are drawn, not conserved: no store of coins adds them up.

The same arguments give the same blocks on every machine and Python version: of Random, only
random(), getrandbits() and randbytes() are used, whose algorithms Python keeps, and floats only
meet + - * /, which IEEE 754 rounds alike everywhere.
"""

import sys
from collections import deque
from collections.abc import Iterator
from itertools import cycle, islice
from random import Random

from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import MAX_U32, NAME_BYTES, Coin, bytes32, bytes32_unchecked
from cdb.text.mainnet import (
    FIRST_SPENDING_HEIGHT,
    MOJO_PER_XCH,
    farmer_coin,
    pool_coin,
    rewarded_heights,
    timestamp_at,
    transaction_heights,
)

MODEL_HEIGHTS = 800_000
MODEL_COINS = 13_423_068

# A block spends SPENDS_SCALE * (1/u - 1) older coins, u uniform in (0, 1], up to MAX_OLDER_SPENDS.
SPENDS_SCALE = 6.29
MAX_OLDER_SPENDS = 500
RECENT_SHARE = 0.685  # of the spends of older coins
EPHEMERAL_SHARE = 0.112  # of the spends with children: the first child is spent at once
RECREATED_SHARE = 0.03  # of the spends with children, unless the coin is an old one
FEES_SHARE = 0.3  # of the blocks with spends

# A spend has one of these numbers of children, or fans out to MIN_FAN_OUT / u, up to MAX_FAN_OUT.
USUAL_CHILDREN = (0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 4)
FAN_OUT_SHARE = 0.0017  # of the spends
MIN_FAN_OUT = 50
MAX_FAN_OUT = 3_000
DUST_SHARE = 0.8  # of the fan-outs

REUSED_SHARE = 0.446  # of the puzzle hashes drawn
KNOWN_PUZZLE_HASHES = 65_536
LASTING_PUZZLE_HASHES = 4_096

NFT_SHARE, ZERO_SHARE = 0.30, 0.002  # of the amounts; the zeros are among the NFTs' share
TOKEN_SHARE = 0.32
ROUND_XCH_SHARE = 0.13

GENERATIONS = 8
HEIGHTS_PER_GENERATION = 500
RECORD_BYTES = NAME_BYTES + NAME_BYTES + 8

Child = tuple[bytes32, int]  # puzzle hash, amount in mojos
Spent = tuple[bytes32, Child | None]  # name, and the child that would recreate the coin


def mainnet_shaped_blocks(
    *,
    heights: int | None = None,
    coins: int | None = None,
    spends_from: int | None = None,
    seed: int = 0,
) -> Iterator[BlockSpendInfo]:
    """Yield valid blocks in canonical order, one at a time; only unspent names stay in memory.

    heights: block indices are below this. coins: end after exactly that many coins. With both,
    whichever comes first; with neither, 800,000 heights. spends_from: the height from which on
    coins are spent; None: as far on as it was on mainnet.
    """
    if heights is None and coins is None:
        heights = MODEL_HEIGHTS
    coins_left = sys.maxsize if coins is None else coins
    length = coins_left * MODEL_HEIGHTS // MODEL_COINS if heights is None else heights
    first_spending = spends_from
    if first_spending is None:
        first_spending = FIRST_SPENDING_HEIGHT * min(length, MODEL_HEIGHTS) // MODEL_HEIGHTS
    end = MAX_U32 + 1 if heights is None else heights
    maker = _BlockMaker(Random(seed))  # noqa: S311 - reproducible, not secret
    for height, rewarded in rewarded_heights(transaction_heights()):
        if height >= end or coins_left <= 0:
            return
        block = maker.block(height, rewarded, height >= first_spending, coins_left)
        coins_left -= len(block.confirms)
        yield canonical(block)


class _BlockMaker:
    """Makes one block after the other, out of what the blocks before left unspent."""

    def __init__(self, random: Random) -> None:
        self._draw = _Draw(random)
        self._unspent = _UnspentCoins(random)
        self._fees = 0

    def block(
        self, height: int, rewarded: range, with_spends: bool, max_coins: int
    ) -> BlockSpendInfo:
        """The block at a height, not yet in canonical order."""
        block = BlockSpendInfo(height, timestamp_at(height), [], [])
        self._unspent.begin_block(height)
        block.confirms += islice(self._rewards(rewarded), max_coins)
        for coin in block.confirms:
            self._unspent.add(coin.name(), coin)
        if with_spends:
            for _ in range(self._draw.older_spends()):
                self._spend_chain(block, max_coins)
        self._fees = self._draw.fees() if block.spends else 0
        return block

    def _rewards(self, heights: range) -> Iterator[Coin]:
        """The last height is that of the block before, and its farmer has that block's fees."""
        for height in heights:
            fees = self._fees if height == heights[-1] else 0
            yield pool_coin(height, self._draw.puzzle_hash())
            yield farmer_coin(height, self._draw.puzzle_hash(), fees)

    def _spend_chain(self, block: BlockSpendInfo, max_coins: int) -> None:
        """Spend an older coin, and the ephemeral coins that come of it."""
        spent = self._unspent.take()
        while spent is not None and len(block.confirms) < max_coins:
            name, twin = spent
            children = self._draw.children(twin, max_coins - len(block.confirms))
            coins = [Coin(name, puzzle_hash, amount) for puzzle_hash, amount in children]
            names = [coin.name() for coin in coins]
            block.spends.append(name)
            block.confirms += coins
            spent = (names[0], children[0]) if coins and self._draw.is_ephemeral() else None
            for i in range(0 if spent is None else 1, len(coins)):
                self._unspent.add(names[i], coins[i])


class _UnspentCoins:
    """The unspent coins, packed: generations of recent ones by height, and the old ones.

    A recent coin is a record of name, puzzle hash and amount, so that it can be recreated; an
    old one is its name alone, since there are millions.
    """

    def __init__(self, random: Random) -> None:
        self._random = random.random
        self._generation = 0
        self._new = bytearray()
        self._recent = deque(bytearray() for _ in range(GENERATIONS))  # the youngest first
        self._old = bytearray()

    def begin_block(self, height: int) -> None:
        """From here on, the coins of the block before can be taken."""
        self._recent[0] += self._new
        self._new.clear()
        while self._generation < height // HEIGHTS_PER_GENERATION:
            self._generation += 1
            aged = self._recent.pop()
            for at in range(0, len(aged), RECORD_BYTES):
                self._old += aged[at : at + NAME_BYTES]
            self._recent.appendleft(bytearray())

    def add(self, name: bytes32, coin: Coin) -> None:
        """Keep a coin of the block begun."""
        self._new += name + coin.puzzle_hash + coin.amount.to_bytes(8, "big")

    def take(self) -> Spent | None:
        """Remove a coin at random, rather a younger one; None when there is none."""
        random = self._random
        if self._old and random() >= RECENT_SHARE:
            return bytes32_unchecked(_swap_remove(self._old, NAME_BYTES, random())), None
        u = random()
        pool = self._recent[int(GENERATIONS * u * u)] or max(self._recent, key=len)
        if not pool:
            return None
        record = _swap_remove(pool, RECORD_BYTES, random())
        name, puzzle_hash, amount = record[:32], record[32:64], record[64:]
        twin = bytes32_unchecked(puzzle_hash), int.from_bytes(amount, "big")
        return bytes32_unchecked(name), twin


def _swap_remove(pool: bytearray, record_bytes: int, u: float) -> bytes:
    """Take out the record at the fraction u of the pool; the last one moves into its place."""
    at = int(u * (len(pool) // record_bytes)) * record_bytes
    record = bytes(pool[at : at + record_bytes])
    pool[at : at + record_bytes] = pool[-record_bytes:]
    del pool[-record_bytes:]
    return record


class _Draw:
    """The distributions. All randomness but the choice of the coins to spend is here."""

    def __init__(self, random: Random) -> None:
        self._random = random.random
        self._bits = random.getrandbits
        self._bytes = random.randbytes
        self._known: list[bytes32] = []
        self._replaced = cycle(range(LASTING_PUZZLE_HASHES, KNOWN_PUZZLE_HASHES))

    def older_spends(self) -> int:
        """How many coins of earlier blocks a block spends."""
        return int(min(MAX_OLDER_SPENDS, SPENDS_SCALE / (1 - self._random()) - SPENDS_SCALE))

    def is_ephemeral(self) -> bool:
        """Whether a child is spent in its own block."""
        return self._random() < EPHEMERAL_SHARE

    def fees(self) -> int:
        """A block's fees, in mojos."""
        return self._bits(28) if self._random() < FEES_SHARE else 0

    def children(self, twin: Child | None, max_children: int) -> list[Child]:
        """The children of a spend, all different; twin is the child like its parent."""
        if self._random() < FAN_OUT_SHARE:
            return self._fan_out(max_children)
        usual = USUAL_CHILDREN[int(self._random() * len(USUAL_CHILDREN))]
        count = min(usual, max_children)
        children: dict[Child, None] = {}
        if twin is not None and count and self._random() < RECREATED_SHARE:
            children[twin] = None
        while len(children) < count:
            children[self.puzzle_hash(), self._amount()] = None
        return list(children)

    def _fan_out(self, max_children: int) -> list[Child]:
        count = min(int(min(MAX_FAN_OUT, MIN_FAN_OUT / (1 - self._random()))), max_children)
        amount = 1 if self._random() < DUST_SHARE else self._amount()
        puzzle_hashes: dict[bytes32, None] = {}
        while len(puzzle_hashes) < count:
            puzzle_hashes[self.puzzle_hash()] = None
        return [(puzzle_hash, amount) for puzzle_hash in puzzle_hashes]

    def puzzle_hash(self) -> bytes32:
        """A known puzzle hash or a new one. The first few stay known, the others give way."""
        known = self._known
        if known and self._random() < REUSED_SHARE:
            u = self._random()
            return known[int(u * u * len(known))]
        new = bytes32_unchecked(self._bytes(32))
        if len(known) < KNOWN_PUZZLE_HASHES:
            known.append(new)
        else:
            known[next(self._replaced)] = new
        return new

    def _amount(self) -> int:
        """In mojos: NFTs, dust and nothing, tokens (1,000 to the unit), round XCH, any XCH."""
        u = self._random()
        bits = self._bits
        if u < NFT_SHARE:
            return 1 if u > ZERO_SHARE else 0
        if u < NFT_SHARE + TOKEN_SHARE:
            return 1000 * (1 + (bits(20) >> bits(4)))
        if u < NFT_SHARE + TOKEN_SHARE + ROUND_XCH_SHARE:
            return (1 + bits(6)) * MOJO_PER_XCH // 100
        return 1 + (bits(45) >> bits(4))
