"""Random blocks that may follow on a chain, and some that may not."""

from dataclasses import dataclass, field
from hashlib import sha256
from random import Random
from typing import Any

from chia_rs import Coin
from chia_rs.sized_ints import uint32, uint64

AMOUNTS = [0, 1, 1, 1, 255, 2**32, 2**63, 2**64 - 1]
PUZZLES = [sha256(b"puzzle %d" % number).digest() for number in range(12)]
HINTS = [*PUZZLES[:4], sha256(b"hint").digest(), b"short"]
_SPENT = 5


@dataclass
class Made:
    """A block as chia hands it to a coin store, and hints of its coins."""

    height: int
    timestamp: int
    rewards: list[Coin]
    additions: list[tuple[bytes, Coin, bool]]
    removals: list[bytes]
    hints: list[tuple[bytes, bytes]] = field(default_factory=list)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Of new_block()."""
        height, timestamp = uint32(self.height), uint64(self.timestamp)
        return height, timestamp, self.rewards, self.additions, self.removals


class Chain:
    """rows: the coins by their blocks, as (name, parent, puzzle hash, amount, confirmed, spent,
    timestamp), spent as chia has it."""

    def __init__(self, random: Random, rows: list[Any]) -> None:
        self._random = random
        self.n_coins = len(rows)
        self._rows = rows
        self._unspent = [row for row in rows if row[_SPENT] <= 0]
        spends = [row[_SPENT] for row in rows]
        self.height: int = max([-1, *spends, *(row[4] for row in rows)])

    def block(self, *, more: bool = False) -> Made:
        """A block above the newest, or more of that one."""
        random = self._random
        more = more and self.height > 0
        height = self.height if more else self.height + random.choice([1, 1, 2, 7])
        timestamp = self._rows[-1][-1] if more else random.getrandbits(40)
        if height == 0:
            return Made(0, timestamp, [], self._prefarm(), [])
        rewards = [self._reward(height) for _ in range(random.choice([2, 2, 4]))]
        made = Made(height, timestamp, rewards, [], [])
        for row in random.sample(self._unspent, min(len(self._unspent), random.randint(0, 5))):
            self._spend(made, row[0], row[2], int.from_bytes(row[3], "big"))
        if made.additions and random.random() < 0.1:
            self._add_dust(made)
        random.shuffle(made.additions)
        random.shuffle(made.removals)
        return made

    def fork(self, most_coins: int) -> int:
        """A height to go back to: of a block, or beside one, above all or below all; with more than
        so many coins far below."""
        random = self._random
        if self.n_coins > most_coins:
            return self.height // 2
        if random.random() < 0.05:
            return random.choice([-2, -1, 0, self.height + 3])
        near: list[int] = sorted({row[4] for row in self._rows})[-6:] or [0]
        return random.choice(near) + random.choice([-1, 0, 0, 1])

    def more_spends(self) -> list[bytes]:
        """Names of some coins that are unspent, or of none."""
        unspent = self._unspent
        return [row[0] for row in self._random.sample(unspent, min(len(unspent), 2))]

    def wrong_block(self) -> Made:
        """One that spends what can't be spent, or confirms what is there."""
        random = self._random
        made = self.block()
        made.height = max(1, made.height)
        made.rewards = made.rewards or [self._reward(1), self._reward(1)]
        spent = [row for row in self._rows if row[_SPENT] > 0]
        kind = random.randrange(4)
        if kind == 0 and spent:
            made.removals.append(random.choice(spent)[0])
        elif kind == 1 and made.removals:
            made.removals.append(made.removals[0])
        elif kind == 2 and self._rows:
            row = random.choice(self._rows)
            coin = Coin(row[1], row[2], int.from_bytes(row[3], "big"))
            made.additions.append((row[0], coin, False))
        else:
            made.removals.append(random.randbytes(32))
        return made

    def _prefarm(self) -> list[tuple[bytes, Coin, bool]]:
        coins = [Coin(self._random.randbytes(32), puzzle, 1) for puzzle in PUZZLES]
        return [(coin.name(), coin, False) for coin in coins]

    def _reward(self, height: int) -> Coin:
        parent = self._random.randbytes(16) + height.to_bytes(16, "big")
        return Coin(parent, self._random.choice(PUZZLES), self._random.choice(AMOUNTS))

    def _add_dust(self, made: Made) -> None:
        """Many coins of one puzzle hash, of a parent that the block spends."""
        _, parent, _ = self._random.choice(made.additions)
        puzzle = self._random.choice(PUZZLES)
        dust = {Coin(parent.parent_coin_info, puzzle, 1_000 + n) for n in range(40)}
        dust -= {coin for _, coin, _ in made.additions}  # dust that is spent may come again
        made.additions += [(coin.name(), coin, False) for coin in sorted(dust, key=bytes)]

    def _spend(self, made: Made, name: bytes, puzzle: bytes, amount: int) -> None:
        """Spend a coin, recreate it or not, and perhaps spend its child in the same block."""
        random = self._random
        made.removals.append(name)
        children = {Coin(name, puzzle, amount)} if random.random() < 0.4 else set()
        for _ in range(random.randint(0, 2)):
            children.add(Coin(name, random.choice(PUZZLES), random.choice(AMOUNTS)))
        for child in children:
            is_same = (child.puzzle_hash, child.amount) == (puzzle, amount)
            made.additions.append((child.name(), child, is_same))
            if random.random() < 0.4:
                made.hints.append((child.name(), random.choice(HINTS)))
            if random.random() < 0.2:
                self._spend(made, child.name(), child.puzzle_hash, child.amount)
