"""What chia's coin store refuses of a block, with chia's own errors."""

import sqlite3
from struct import iter_unpack

from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import CONFIRM_BYTES, INFO_BYTES
from cdb.node.marked_table import Marked
from cdb.node.operation import Block
from cdb.node.overlay import View

_PUZZLE_HASH = f"32x32s{INFO_BYTES - 64}x"
"""Of a packed info."""
_WORD = 4
_SPENT_WORD = INFO_BYTES // _WORD - 1
"""Where a packed info has its spent index."""


def check(view: View, block: Block, n_removals: int) -> list[Marked]:
    """Raise what chia does for a block that a view's coins don't allow, after one look-up of all.

    Gives the coins of the view that the block spends. Raises sqlite3.IntegrityError if a coin is
    there already, or twice in the block; ValueError if one that it spends is missing, spent, or
    named twice. n_removals: how many were asked for, which may be more than the block's.
    """
    names, spends = _separate(block.names), set(_separate(block.spends))
    own = set(names)
    outside = [*(spends - own)]
    infos, found = view.coin_infos_packed(b"".join([block.names, *outside]))
    if len(own) != len(names) or any(found[: len(names)]):
        raise sqlite3.IntegrityError("UNIQUE constraint failed: coin_record.coin_name")
    spent = memoryview(infos).cast("I")[_SPENT_WORD :: INFO_BYTES // _WORD].tolist()
    n_spent = len(spent) - spent.count(0)
    n_unspent = len(spends) - len(outside) + sum(found) - n_spent
    if n_unspent != n_removals:
        problem = f"total updates {n_unspent} expected {n_removals}"
        raise ValueError(f"Invalid operation to set spent, {problem}")
    puzzle_hashes = iter_unpack(_PUZZLE_HASH, memoryview(infos)[len(names) * INFO_BYTES :])
    return [
        (puzzle_hash, name) for (puzzle_hash,), name in zip(puzzle_hashes, outside, strict=True)
    ]


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
