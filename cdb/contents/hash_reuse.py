"""How often puzzle hashes come again: what a store could save that refers back to the last one.

A coin's puzzle hash is 32 of the some 60 bytes that a store keeps of it. Where an earlier coin has
the same hash, a reference of a few bytes to that coin does, as long as the reader still has it.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cdb.contract.packed import CONFIRM_BYTES, PackedBlocks

HASH_BYTES = 32
REFERENCE_BYTES = 3
"""Of a reference to one of the last 16 million coins."""
WINDOWS = (0, 1, 10, 100, 1_000, 10_000)
"""In heights: 0 is within one block."""

_HASH = slice(HASH_BYTES, 2 * HASH_BYTES)


@dataclass(frozen=True, slots=True)
class Within:
    """Coins whose puzzle hash an earlier coin has, at most so many heights below.

    share: of all coins, 0 … 1. saved_bytes: per coin, of all coins, by references of
    REFERENCE_BYTES. most_coins: that ever lay within so many heights, which a reader would hold.
    """

    heights: int
    coins: int
    share: float
    saved_bytes: float
    most_coins: int


class HashReuse:
    """Counts it over blocks in their order. It holds the coins of the longest window."""

    def __init__(self, windows: Sequence[int] = WINDOWS) -> None:
        """windows: in heights, each 0 or more."""
        self._windows = sorted({*windows})
        self._counts = [0] * len(self._windows)
        self._held = [_Held(window) for window in self._windows]
        self._last_height: dict[bytes, int] = {}
        self._blocks: deque[tuple[int, list[bytes]]] = deque()
        self.coins = 0

    def add(self, packed: PackedBlocks) -> None:
        """The next blocks."""
        confirms = bytes(packed.confirms)
        for height, (start, end) in zip(
            packed.indices, pairwise([0, *packed.confirm_ends]), strict=True
        ):
            first, last = CONFIRM_BYTES * start, CONFIRM_BYTES * end
            rows = (confirms[at : at + CONFIRM_BYTES] for at in range(first, last, CONFIRM_BYTES))
            self._add_block(height, [row[_HASH] for row in rows])

    def within(self) -> list[Within]:
        """What was counted, the shortest window first."""
        found, coins = [], 0
        for held, more in zip(self._held, self._counts, strict=True):
            coins += more
            share = coins / self.coins if self.coins else 0.0
            saved = share * (HASH_BYTES - REFERENCE_BYTES)
            found.append(Within(held.heights, coins, share, saved, held.most_coins))
        return found

    def _add_block(self, height: int, hashes: list[bytes]) -> None:
        self._forget_below(height - self._windows[-1])
        last_height = self._last_height
        for each in hashes:
            last = last_height.get(each)
            if last is not None:
                self._counts[bisect_left(self._windows, height - last)] += 1
            last_height[each] = height
        self.coins += len(hashes)
        self._blocks.append((height, hashes))
        for held in self._held:
            held.add(height, len(hashes))

    def _forget_below(self, height: int) -> None:
        while self._blocks and self._blocks[0][0] < height:
            of, hashes = self._blocks.popleft()
            for each in hashes:
                if self._last_height.get(each) == of:
                    del self._last_height[each]


class _Held:
    """How many coins lie within so many heights of the newest block, and the most that ever did."""

    def __init__(self, heights: int) -> None:
        self.heights = heights
        self.most_coins = 0
        self._coins = 0
        self._blocks: deque[tuple[int, int]] = deque()

    def add(self, height: int, coins: int) -> None:
        """The next block."""
        while self._blocks and self._blocks[0][0] < height - self.heights:
            self._coins -= self._blocks.popleft()[1]
        self._blocks.append((height, coins))
        self._coins += coins
        self.most_coins = max(self.most_coins, self._coins)
