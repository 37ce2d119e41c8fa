"""Mainnet's rules for reward coins, and when its transaction blocks came."""

import lzma
from collections.abc import Iterator
from importlib.resources import files
from itertools import accumulate, cycle, islice, takewhile
from operator import sub

from cdb.contract.coins import REWARD_PREFIX_BYTES, Coin, bytes32, bytes32_unchecked

GENESIS_CHALLENGE = bytes32.fromhex(
    "ccd5bb71183532bff220ba46c268991a3ff07eb358e8255a65c30a2dce0e5fbb"
)
POOL_PARENT_PREFIX = GENESIS_CHALLENGE[:REWARD_PREFIX_BYTES]
FARMER_PARENT_PREFIX = GENESIS_CHALLENGE[REWARD_PREFIX_BYTES:]

MOJO_PER_XCH = 10**12
PREFARM_MOJO = 21_000_000 * MOJO_PER_XCH
FIRST_REWARD_MOJO = 2 * MOJO_PER_XCH
HEIGHTS_PER_HALVING = 5_045_760
MAX_HALVINGS = 4

FIRST_SPENDING_HEIGHT = 225_698
HEIGHT_1_TIMESTAMP = 1_616_162_525
SECONDS_PER_32_HEIGHTS = 600


def reward_mojo(height: int) -> int:
    """What a height earns before fees: the prefarm at 0, then 2 XCH, halved every three years.

    The pool gets 7/8 and the farmer 1/8.
    """
    if height == 0:
        return PREFARM_MOJO
    return FIRST_REWARD_MOJO >> min(height // HEIGHTS_PER_HALVING, MAX_HALVINGS)


def pool_coin(height: int, puzzle_hash: bytes32) -> Coin:
    """The coin that a height's pool earns."""
    parent = POOL_PARENT_PREFIX + height.to_bytes(16, "big")
    return Coin(bytes32_unchecked(parent), puzzle_hash, reward_mojo(height) // 8 * 7)


def farmer_coin(height: int, puzzle_hash: bytes32, fees_mojo: int = 0) -> Coin:
    """The coin that a height's farmer earns; the fees are those of that height's own block."""
    parent = FARMER_PARENT_PREFIX + height.to_bytes(16, "big")
    return Coin(bytes32_unchecked(parent), puzzle_hash, reward_mojo(height) // 8 + fees_mojo)


def timestamp_at(height: int) -> int:
    """When mainnet meant to reach the height: 32 heights in 10 minutes, from height 1 on.

    In seconds since the Unix epoch.
    """
    return HEIGHT_1_TIMESTAMP + (height - 1) * SECONDS_PER_32_HEIGHTS // 32


def transaction_heights() -> Iterator[int]:
    """The heights of transaction blocks after genesis, without end.

    From 225,698 to 1,481,511 they are mainnet's own (cdb/data/README.md tells where they are
    from, and their licence). The same gaps continue them as a ring: after the last gap comes the
    first one again, and the last gaps also lead up to 225,698.
    """
    gaps = lzma.decompress((files("cdb") / "data" / "mainnet_height_gaps.xz").read_bytes())
    backwards = accumulate(reversed(gaps), sub, initial=FIRST_SPENDING_HEIGHT)
    yield from reversed(list(takewhile(lambda height: height > 0, backwards)))
    yield from islice(accumulate(cycle(gaps), initial=FIRST_SPENDING_HEIGHT), 1, None)


def rewarded_heights(heights: Iterator[int]) -> Iterator[tuple[int, range]]:
    """Each transaction block's height with the heights whose rewards it confirms.

    A block pays for the transaction block before it and for the heights that led up to that one:
    had mainnet transaction blocks at 1, 5, 8 and 11, then block 11 pays for 6, 7 and 8.
    """
    unpaid, previous = 0, 0
    for height in heights:
        yield height, range(unpaid, previous + 1)
        unpaid, previous = previous + 1, height
