"""What chia's coin store refuses of a block, with chia's own errors."""

import sqlite3
from struct import calcsize

from cdb.chia.operation import Block
from cdb.coin_query import COIN_BYTES, CoinKey, CoinQuery
from cdb.coins import NAME_BYTES
from cdb.packed import CONFIRM_BYTES
from cdb.schemas.protocol import QueriesPacked

_WORD = 4
_SPENT_WORD = calcsize("=32s32s32sQI") // _WORD
"""Where a packed coin has its spent index."""


def check_additions(view: QueriesPacked, block: Block) -> None:
    """Raise sqlite3.IntegrityError if a coin is there already, or twice in the block."""
    names = _separate(block.names)
    known = CoinQuery(CoinKey.NAME, block.names, limit=1)
    if len(set(names)) != len(names) or (names and view.coins_packed(known)):
        raise sqlite3.IntegrityError("UNIQUE constraint failed: coin_record.coin_name")


def check_removals(view: QueriesPacked, block: Block, n_removals: int) -> None:
    """Raise ValueError if a coin is missing, spent, or named twice.

    n_removals: how many were asked for, which may be more than the block's.
    """
    spends = set(_separate(block.spends))
    outside = spends.difference(_separate(block.names))
    found = view.coins_packed(CoinQuery(CoinKey.NAME, b"".join(outside)))
    spent = memoryview(found).cast("I")[_SPENT_WORD :: COIN_BYTES // _WORD].tolist()
    n_unspent = len(spends) - len(outside) + spent.count(0)
    if n_unspent != n_removals:
        problem = f"total updates {n_unspent} expected {n_removals}"
        raise ValueError(f"Invalid operation to set spent, {problem}")


def merged(one: Block, other: Block) -> Block:
    """One block of two of the same height; the timestamp is the other's."""
    return Block(
        one.height,
        other.timestamp,
        b"".join(sorted(_separate(one.spends) + _separate(other.spends))),
        b"".join(
            sorted(
                _separate(one.confirms, CONFIRM_BYTES) + _separate(other.confirms, CONFIRM_BYTES)
            )
        ),
    )


def _separate(joined: bytes, item_bytes: int = NAME_BYTES) -> list[bytes]:
    return [joined[at : at + item_bytes] for at in range(0, len(joined), item_bytes)]
