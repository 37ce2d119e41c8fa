"""The mark -1 of a node's table: unspent, and of the same kind as the spent coin it comes of."""

from array import array
from collections.abc import Iterator
from struct import iter_unpack, unpack_from

from cdb.contract.coins import is_reward
from cdb.contract.packed import CONFIRM_BYTES, INFO_FORMAT, PackedBlocks
from cdb.node.log import Log

MARK = -1
_CONFIRM_FORMAT = ">32s32sQ"

Confirm = tuple[bytes, bytes, int]


def marked(log: Log, blocks: PackedBlocks, places: list[int]) -> Iterator[int]:
    """Those of the coins at some places, all of them unspent, that a node marks.

    Such a coin is no reward, and its parent is spent and has the same puzzle hash and amount.
    """
    coins = [_confirm(blocks, place) for place in places]
    infos, found = log.coin_infos_packed(b"".join([parent for parent, _, _ in coins]))
    parents = zip(iter_unpack(INFO_FORMAT, infos), found, strict=True)
    for place, coin, ((_, puzzle_hash, amount, _, spent), is_found) in zip(
        places, coins, parents, strict=True
    ):
        is_same = coin[1:] == (puzzle_hash, amount)
        if is_found and spent and is_same and not is_reward(coin[0]):
            yield place


def orphans(log: Log, blocks: PackedBlocks, spent: "array[int]") -> int:
    """How many marks there are that a node would not have made."""
    places = [place for place, height in enumerate(spent) if height == MARK]
    return len(places) - sum(1 for _ in marked(log, blocks, places))


def _confirm(blocks: PackedBlocks, place: int) -> Confirm:
    coin: Confirm = unpack_from(_CONFIRM_FORMAT, blocks.confirms, CONFIRM_BYTES * place)
    return coin
