"""Versions of coins, from blocks and look-ups: what each block leaves of the coins it touches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from struct import iter_unpack

from cdb.contract.history import PAGE_ROWS, Page, indices_in
from cdb.contract.packed import Packed, PackedBlocks
from cdb.errors import CorruptDatabaseError

FindAsOf = Callable[[bytes, Sequence[int]], tuple[bytearray, bytearray]]
"""A look-up as of heights, one for each name: infos, and whether they were found."""


def version_pages(
    path: str | PathLike[str], find: FindAsOf, packs: Iterable[PackedBlocks]
) -> Iterator[Page]:
    """What each block leaves of each coin that it touches: by height, and then by name.

    packs: the blocks of the window, of one moment, with names; find: of the same moment. Raises
    CorruptDatabaseError where a coin is not found as the block leaves it.
    """
    for blocks in packs:
        touched = [*_touched(blocks)]
        for start in range(0, len(touched), PAGE_ROWS):
            rows = touched[start : start + PAGE_ROWS]
            heights = [block_index for block_index, _ in rows]
            names = b"".join([name for _, name in rows])
            infos, found = find(names, heights)
            _check(path, names, found, map(max, *indices_in(infos)), heights)
            yield Page(names, infos)


def _touched(blocks: PackedBlocks) -> Iterator[tuple[int, bytes]]:
    """The coins that blocks confirm or spend, each with the block's index, as versions come."""
    for place, block_index in enumerate(blocks.indices):
        block = blocks.part(place, place + 1)
        names = {name for names in (block.names, block.spends) for name in _names(names)}
        for name in sorted(names):
            yield block_index, name


def _names(packed: Packed) -> Iterator[bytes]:
    return (name for (name,) in iter_unpack("32s", packed))


def _check(
    path: str | PathLike[str],
    names: bytes,
    found: bytearray,
    told: Iterable[int],
    expected: Sequence[int],
) -> None:
    """Raise CorruptDatabaseError unless all coins are found, and of the blocks that did it."""
    told = [*told]
    if 0 not in found and told == expected:
        return
    answers = zip(_names(names), found, told, expected, strict=True)
    for name, is_found, index, block_index in answers:
        if not is_found or index != block_index:
            problem = f"coin {name.hex()} is not as block {block_index} has it"
            raise CorruptDatabaseError(path, problem)
