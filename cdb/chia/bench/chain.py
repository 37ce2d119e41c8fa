"""Blocks as a node gets them, and coins to ask for."""

import pickle
from collections.abc import Sequence
from random import Random

from chia_rs import Coin
from chia_rs.sized_bytes import bytes32
from chia_rs.sized_ints import uint64

from cdb.chia.bench.terms import Files

SEED = 1
SMALL_BLOCK_COINS = 45
SPENT_SHARE = 0.45
HINTED_SHARE = 0.42
BUSY_SHARE = 0.02
REUSED_SHARE = 0.45
ADDRESSES = 4_096

Made = tuple[list[Coin], list[tuple[bytes32, Coin, bool]], list[bytes32]]
"""Of a block: rewards, additions, removals."""
Block = tuple[int, Made]
"""Its height, and what it makes."""


def rewards(height: int, puzzle_hash: bytes32, mojo: int = 1) -> list[Coin]:
    """Two, with parents as consensus makes them."""
    marks = [b"a pool's network", b"a farmer's netwo"]
    parents = [bytes32(mark + height.to_bytes(16, "big")) for mark in marks]
    return [Coin(parent, puzzle_hash, uint64(mojo)) for parent in parents]


def made(paid: list[Coin], creates: Sequence[Coin], spends: Sequence[Coin]) -> Made:
    """A block of these coins. A coin is marked that is like the spent one that it comes of."""
    likes = {coin.name(): (coin.puzzle_hash, coin.amount) for coin in spends}
    additions = [
        (coin.name(), coin, likes.get(coin.parent_coin_info) == (coin.puzzle_hash, coin.amount))
        for coin in creates
    ]
    return paid, additions, [coin.name() for coin in spends]  # also one that comes twice


class Chain:
    """Makes blocks. The same seed makes the same.

    names: of all coins but rewards; spent: those of them that are. busy: the puzzle hash of two
    coins in a hundred and of all rewards; addresses: others that come again and again.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)  # noqa: S311 - no secret
        self.height = 0
        self.busy = bytes32(self.random.randbytes(32))
        self.addresses = [bytes32(self.random.randbytes(32)) for _ in range(ADDRESSES)]
        self.names: list[bytes32] = []
        self.spent: list[bytes32] = []
        self._unspent: list[bytes32] = []

    def block(self, n_coins: int) -> Block:
        """The next one, with so many new coins, and its height."""
        self.height += 1
        paid = rewards(self.height, self.busy)
        n_spends = min(len(self._unspent) // 2, round(n_coins * SPENT_SHARE))
        removals = [self._drawn() for _ in range(n_spends)]
        parents = removals or [bytes32(self.random.randbytes(32))]
        coins = [self._coin(parents[n % len(parents)]) for n in range(n_coins - len(paid))]
        additions = [(coin.name(), coin, False) for coin in coins]
        names = [name for name, _, _ in additions]
        self.names += names
        self._unspent += names
        self.spent += removals
        return self.height, (paid, additions, removals)

    def hints(self) -> list[tuple[bytes32, bytes]]:
        """Names of coins with an address as their hint."""
        names = self.random.sample(self.names, round(HINTED_SHARE * len(self.names)))
        return [(name, bytes(self.random.choice(self.addresses))) for name in names]

    def _drawn(self) -> bytes32:
        """An unspent coin, which is spent from now on."""
        place = self.random.randrange(len(self._unspent))
        self._unspent[place], self._unspent[-1] = self._unspent[-1], self._unspent[place]
        return self._unspent.pop()

    def _coin(self, parent: bytes32) -> Coin:
        random = self.random
        if random.random() < BUSY_SHARE:
            puzzle_hash = self.busy
        elif random.random() < REUSED_SHARE:
            puzzle_hash = random.choice(self.addresses)
        else:
            puzzle_hash = bytes32(random.randbytes(32))
        return Coin(parent, puzzle_hash, uint64(random.getrandbits(40)))


def loaded(files: Files) -> Chain:
    """The chain as it was loaded: whoever draws from it draws what all others do."""
    chain: Chain = pickle.loads(files.chain.read_bytes())  # noqa: S301 - our own file
    return chain
