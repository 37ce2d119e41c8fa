"""What chia's coin store refuses of a block, with chia's own errors.

What breaks a rule is found by the rules of all schemas. Chia's own are: confirms count before
spends, and of spends how many can be made; the newest block may be extended, so that its height is
no fault here; and coins that are asked for as often as twice are too many.
"""

import sqlite3
from struct import iter_unpack

from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import CONFIRM_BYTES, INFO_BYTES
from cdb.contract.rules import LookedUp, examine, join
from cdb.node.marked_table import Marked
from cdb.node.operation import Block, packed
from cdb.node.overlay import View

_PUZZLE_HASH = f"32x32s{INFO_BYTES - 64}x"
"""Of a packed info."""


def check(view: View, block: Block, n_removals: int) -> list[Marked]:
    """Raise what chia does for a block that a view's coins don't allow, after one look-up of all.

    Gives the coins of the view that the block spends. Raises sqlite3.IntegrityError if a coin is
    there already, or twice in the block; ValueError if one that it spends is missing, spent, or
    named twice. n_removals: how many were asked for, which may be more than the block's.
    """
    known = LookedUp(view.coin_infos_packed)
    joined = join(packed([block]), None)
    faults, _ = examine(joined, known)
    if faults.confirmed_twice or faults.existing:
        raise sqlite3.IntegrityError("UNIQUE constraint failed: coin_record.coin_name")
    n_unspent = len({*_separate(block.spends)} - {*faults.unknown, *faults.spent})
    if n_unspent != n_removals:
        problem = f"total updates {n_unspent} expected {n_removals}"
        raise ValueError(f"Invalid operation to set spent, {problem}")
    puzzle_hashes = iter_unpack(_PUZZLE_HASH, known.infos)
    spent = zip(puzzle_hashes, joined.outside_spends, strict=False)
    return [(puzzle_hash, name) for (puzzle_hash,), name in spent]


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
