"""Packed coins as chia's objects, and back.

chia_rs makes them ten times faster from plain bytes and integers than from its sized types, and
gives those types all the same when fields are read.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from chia_rs import Coin, CoinRecord, CoinState
from chia_rs.sized_bytes import bytes32

from cdb.chia.rows import Row
from cdb.coin_query import CoinKey, CoinQuery
from cdb.coins import NAME_BYTES, is_reward

sized: Callable[[bytes], bytes32] = partial(bytes.__new__, bytes32)
"""32 bytes as chia's own type, at a third of what it costs to have them counted."""


def joined(values: Iterable[bytes]) -> bytes:
    """Names or puzzle hashes for a query; what has not 32 bytes matches nothing."""
    return b"".join([value for value in values if len(value) == NAME_BYTES])


def records(rows: Iterable[Row]) -> list[CoinRecord]:
    """The coins as chia's records. A reward is known by its parent."""
    return [
        CoinRecord(
            Coin(parent, puzzle_hash, amount),
            confirmed,
            spent,
            is_reward(parent),
            timestamp,
        )
        for _, parent, puzzle_hash, amount, confirmed, spent, timestamp in rows
    ]


def states(rows: Iterable[Row]) -> list[CoinState]:
    """The coins as chia's states."""
    return [
        CoinState(Coin(parent, puzzle_hash, amount), spent or None, confirmed)
        for _, parent, puzzle_hash, amount, confirmed, spent, _ in rows
    ]


def rolled_back(rows: Iterable[Row], above: int) -> dict[bytes, CoinRecord]:
    """By name, what becomes of coins that are confirmed or spent at a height or above it."""
    changes = {}
    for name, parent, puzzle_hash, amount, confirmed, spent, timestamp in rows:
        coin = Coin(parent, puzzle_hash, amount)
        if confirmed >= above:
            record = CoinRecord(coin, 0, spent, is_reward(parent), 0)
        else:
            record = CoinRecord(coin, confirmed, 0, is_reward(parent), timestamp)
        changes[sized(name)] = record
    return changes


def by_name(names: Iterable[bytes], **choice: Any) -> CoinQuery:
    """A query for coins of these names."""
    return CoinQuery(CoinKey.NAME, joined(names), **choice)
