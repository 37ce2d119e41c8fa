"""Packed coins as chia's objects, and back.

chia_rs makes them ten times faster from plain bytes and integers than from its sized types, and
gives those types all the same when fields are read.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, starmap
from struct import iter_unpack
from typing import Any

from chia_rs import Coin, CoinRecord, CoinState
from chia_rs.sized_bytes import bytes32

from cdb.contract.coin_query import COIN_BYTES, CoinKey, CoinQuery
from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import Packed

_REWARD_ZEROS = bytes(12)

sized: Callable[[bytes], bytes32] = partial(bytes.__new__, bytes32)
"""32 bytes as chia's own type, at a third of what it costs to have them counted."""


def joined(values: Iterable[bytes]) -> bytes:
    """Names or puzzle hashes for a query; what has not 32 bytes matches nothing."""
    return b"".join([value for value in values if len(value) == NAME_BYTES])


def records(coins: Packed) -> list[CoinRecord]:
    """The coins of a query as chia's records. A reward is known by its parent."""
    confirmed, spent, timestamps = _columns(coins)
    return [*map(CoinRecord, _coins(coins), confirmed, spent, _are_rewards(coins), timestamps)]


def states(coins: Packed) -> list[CoinState]:
    """The same as chia's states."""
    confirmed, spent, _ = _columns(coins)
    return [*map(CoinState, _coins(coins), [height or None for height in spent], confirmed)]


def rolled_back(coins: Packed, above: int) -> Iterator[tuple[bytes32, CoinRecord]]:
    """What becomes of coins that are confirmed or spent at a height or above it, with their names.

    Those that are confirmed there get the height and the timestamp 0; others are unspent.
    """
    confirmed, spent, timestamps = _columns(coins)
    goes = [height >= above for height in confirmed]
    changed = map(
        CoinRecord,
        _coins(coins),
        [0 if gone else height for gone, height in zip(goes, confirmed, strict=True)],
        [height if gone else 0 for gone, height in zip(goes, spent, strict=True)],
        _are_rewards(coins),
        [0 if gone else timestamp for gone, timestamp in zip(goes, timestamps, strict=True)],
    )
    return zip(map(sized, _names(coins)), changed, strict=True)


def by_name(names: Iterable[bytes], **choice: Any) -> CoinQuery:
    """A query for coins of these names."""
    return CoinQuery(CoinKey.NAME, joined(names), **choice)


# No step of Python's for each coin: a column goes through a constructor by map().


def _coins(coins: Packed) -> Iterator[Coin]:
    return starmap(Coin, iter_unpack("=32x32s32sQ16x", coins))


def _names(coins: Packed) -> Iterator[bytes]:
    return chain.from_iterable(iter_unpack("=32s88x", coins))


def _columns(coins: Packed) -> tuple[list[int], list[int], list[int]]:
    """Confirmed and spent indices, and timestamps."""
    words, longs = memoryview(coins).cast("I"), memoryview(coins).cast("Q")
    confirmed, spent = (words[place :: COIN_BYTES // 4].tolist() for place in (26, 27))
    return confirmed, spent, longs[14 :: COIN_BYTES // 8].tolist()


def _are_rewards(coins: Packed) -> Iterator[bool]:
    """is_reward() of each coin."""
    return map(_REWARD_ZEROS.__eq__, chain.from_iterable(iter_unpack("=48x12s60x", coins)))
