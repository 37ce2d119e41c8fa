"""Coins as of a height: the mask, by which a row answers, and pages of rows.

A coin is an interval: it is there from the block that confirms it on, and unspent until the one
that spends it. So one row (confirmed, spent) answers for each height. A version of a coin is the
coin as of a block that confirmed or spent it, and that block's index is the version's height.

In packed form rows come in pages of at most PAGE_ROWS:

    names    32 bytes a row
    infos    80 bytes a row    see cdb.contract.packed.INFO_FORMAT
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from operator import index
from struct import iter_unpack
from typing import NamedTuple

from cdb.contract.coins import MAX_U32, NAME_BYTES, CoinInfo
from cdb.contract.objects import unpacked_infos
from cdb.contract.packed import INFO_BYTES, Packed

PAGE_ROWS = 4096
BY_CREATION = "creation"
"""An order of states, as SchemaSpec.history has it: by the block that confirms a coin, and then as
that block has it."""
BY_NAME = "name"
"""Another order: by name; and what is in memory yet behind what is stored, by creation."""
ABOVE_ALL = MAX_U32 + 1
"""A height above every block."""

_INFO_WORDS = INFO_BYTES // 4
_CONFIRMED, _SPENT = _INFO_WORDS - 2, _INFO_WORDS - 1
_UNKNOWN = bytes(INFO_BYTES)


class Page(NamedTuple):
    """Rows in packed form; good until the next page is asked for."""

    names: Packed
    infos: Packed


def checked_height(height: int) -> int:
    """A height that a caller asks for, of any size, as one of -1 … ABOVE_ALL.

    Raises TypeError for what is no integer.
    """
    try:
        plain = index(height)
    except TypeError:
        raise TypeError(f"a height is an integer, not of type {type(height).__name__}") from None
    return max(-1, min(plain, ABOVE_ALL))


def as_of(info: CoinInfo, height: int) -> CoinInfo | None:
    """What a coin was after the last block with an index ≤ height; None where it was not yet."""
    if info.confirmed_index > height:
        return None
    return info if info.spent_index <= height else replace(info, spent_index=0)


def mask(infos: bytearray, found: bytearray, heights: Sequence[int]) -> None:
    """Make of a look-up one as of heights, in place: heights[i] is for infos[i] and found[i]."""
    with memoryview(infos).cast("I") as words:
        confirmed, spent = words[_CONFIRMED::_INFO_WORDS], words[_SPENT::_INFO_WORDS]
        for place, height in enumerate(heights):
            if confirmed[place] > height:
                words[_INFO_WORDS * place : _INFO_WORDS * (place + 1)] = _NO_WORDS
                found[place] = 0
            elif spent[place] > height:
                spent[place] = 0


def masked(answer: tuple[bytearray, bytearray], height: int) -> tuple[bytearray, bytearray]:
    """A look-up's answer as of a height, in place."""
    mask(*answer, [height] * len(answer[1]))
    return answer


_NO_WORDS = memoryview(_UNKNOWN).cast("I")


def indices_in(infos: Packed) -> tuple[list[int], list[int]]:
    """The confirmed indices, and the spent indices, of packed infos."""
    words = memoryview(infos).cast("I")
    return words[_CONFIRMED::_INFO_WORDS].tolist(), words[_SPENT::_INFO_WORDS].tolist()


def unpacked_page(page: Page) -> list[CoinInfo]:
    """The rows of a page as objects."""
    return unpacked_infos(page.infos, b"\1" * (len(page.infos) // INFO_BYTES))


def cut(page: Page) -> Iterator[Page]:
    """Pages of PAGE_ROWS, of one that may have more rows, or none."""
    for start in range(0, len(page.names) // NAME_BYTES, PAGE_ROWS):
        rows = slice(start, start + PAGE_ROWS)
        yield Page(
            page.names[NAME_BYTES * rows.start : NAME_BYTES * rows.stop],
            page.infos[INFO_BYTES * rows.start : INFO_BYTES * rows.stop],
        )


def unspent_pages(pages: Iterable[Page]) -> Iterator[Page]:
    """Of the pages of a state the rows that are unspent."""
    for names, infos in pages:
        _, spent = indices_in(infos)
        unspent = [not each for each in spent]
        if all(unspent):
            yield Page(names, infos)
        elif any(unspent):
            yield Page(_chosen(names, NAME_BYTES, unspent), _chosen(infos, INFO_BYTES, unspent))


def _chosen(items: Packed, item_bytes: int, chosen: Sequence[bool]) -> bytes:
    each = (item for (item,) in iter_unpack(f"{item_bytes}s", items))
    return b"".join(compress(each, chosen))
