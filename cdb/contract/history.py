"""Coins as of a height: the mask, and what all share that keep history without versions.

A coin is an interval: it is there from the block that confirms it on, and unspent until the one
that spends it. So one row (confirmed, spent) answers for each height. A version of a coin is the
coin as of a block that confirmed or spent it, and that block's index is the version's height.

In packed form rows come in pages of at most PAGE_ROWS:

    names    32 bytes a row
    infos    80 bytes a row    see cdb.contract.packed.INFO_FORMAT
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import index
from typing import NamedTuple

from cdb.contract.blocks import checked_names
from cdb.contract.coins import MAX_U32, NAME_BYTES, CoinInfo, bytes32
from cdb.contract.packed import INFO_BYTES, Packed, checked_packed_names, unpacked_infos
from cdb.disk.sharing import Shared, beside

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


_NO_WORDS = memoryview(_UNKNOWN).cast("I")


def indices_in(infos: Packed) -> tuple[list[int], list[int]]:
    """The confirmed indices, and the spent indices, of packed infos."""
    words = memoryview(infos).cast("I")
    return words[_CONFIRMED::_INFO_WORDS].tolist(), words[_SPENT::_INFO_WORDS].tolist()


def unpacked_page(page: Page) -> list[CoinInfo]:
    """The rows of a page as objects."""
    return unpacked_infos(page.infos, b"\1" * (len(page.infos) // INFO_BYTES))


class PackedHistory(Shared):
    """The methods of HistorySchema, by the same in packed form. See cdb.contract.schema."""

    @abstractmethod
    def _find_as_of(
        self, coin_names: bytes | memoryview, height: int
    ) -> tuple[bytearray, bytearray]:
        """See ReadsPacked.coin_infos_packed; as of a checked height, at most PAGE_ROWS names. It
        is a part of a call that is @beside."""

    @abstractmethod
    def state_at_packed(self, height: int) -> Iterator[Page]:
        """The rows of state_at() in pages."""

    @abstractmethod
    def unspent_packed(self) -> Iterator[Page]:
        """The rows of unspent() in pages."""

    @abstractmethod
    def versions_packed(self, first: int, last: int) -> Iterator[Page]:
        """The rows of versions() in pages."""

    @beside
    def coin_infos_as_of_packed(
        self, coin_names: Packed, height: int
    ) -> tuple[bytearray, bytearray]:
        """See HistoryPacked. Between two pages of names signals are seen, and other readers have
        their turn."""
        names, height = checked_packed_names(coin_names), checked_height(height)
        page_bytes = NAME_BYTES * PAGE_ROWS
        if len(names) <= page_bytes:
            return self._find_as_of(names, height)
        view, infos, found = memoryview(names), bytearray(), bytearray()
        with self.mutex:  # nobody writes: all is of one moment
            for start in range(0, len(names), page_bytes):
                page = self._find_as_of(view[start : start + page_bytes], height)
                infos += page[0]
                found += page[1]
        return infos, found

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        names = b"".join(checked_names(coin_names))
        return unpacked_infos(*self.coin_infos_as_of_packed(names, height))

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        return self._unpacked(self.state_at_packed(height))

    def unspent(self) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        return self._unpacked(self.unspent_packed())

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        return self._unpacked(self.versions_packed(first, last))

    def _unpacked(self, pages: Iterator[Page]) -> Iterator[CoinInfo]:
        return self.iteration(info for page in pages for info in unpacked_page(page))
