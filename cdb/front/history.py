"""A store's history, as objects and in pages, from its backend's views or by snapshots of ours."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cdb.contract.coins import NAME_BYTES, CoinInfo, bytes32
from cdb.contract.history import (
    ABOVE_ALL,
    PAGE_ROWS,
    Page,
    checked_height,
    cut,
    unpacked_page,
    unspent_pages,
)
from cdb.contract.objects import joined_names, unpacked_infos
from cdb.contract.packed import Packed, checked_packed_names
from cdb.contract.versions import version_pages
from cdb.disk.sharing import beside, reading
from cdb.front.backend import AsOfBackend, HistoryBackend, PresentBackend, StateReader
from cdb.front.snapshots import HistorySnapshot, HistorySnapshots
from cdb.front.store import Store

T = TypeVar("T")


class Historic(Store):
    """The methods of HistorySchema and HistoryPacked, by a backend that answers as of heights."""

    _backend: AsOfBackend

    @abstractmethod
    def _state_at(self, height: int, *, only_unspent: bool) -> Iterator[Page]:
        """The pages of state_at() at a checked height, or those that are unspent then."""

    @abstractmethod
    def _versions(self, first: int, last: int) -> Iterator[Page]:
        """The pages of versions(), of checked heights."""

    @beside
    def coin_infos_as_of_packed(
        self, coin_names: Packed, height: int
    ) -> tuple[bytearray, bytearray]:
        """See HistoryPacked. Between two pages of names signals are seen, and other readers have
        their turn."""
        names, height = checked_packed_names(coin_names), checked_height(height)
        page_bytes = NAME_BYTES * PAGE_ROWS
        find = self._backend.find_as_of
        if len(names) <= page_bytes:
            return self._read(find, names, height)
        view, infos, found = memoryview(names), bytearray(), bytearray()
        with self.mutex:  # nobody writes: all is of one moment
            for start in range(0, len(names), page_bytes):
                page = self._read(find, view[start : start + page_bytes], height)
                infos += page[0]
                found += page[1]
        return infos, found

    def state_at_packed(self, height: int) -> Iterator[Page]:
        """See HistoryPacked."""
        return self.iteration(self._state_at(checked_height(height), only_unspent=False))

    def unspent_packed(self) -> Iterator[Page]:
        """See HistoryPacked."""
        return self.iteration(self._state_at(ABOVE_ALL, only_unspent=True))

    def versions_packed(self, first: int, last: int) -> Iterator[Page]:
        """See HistoryPacked."""
        return self.iteration(self._versions(checked_height(first), checked_height(last)))

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        names = joined_names(coin_names)
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


class ViewHistory(Historic):
    """Of a backend whose iterators are of the moment of their call."""

    _backend: HistoryBackend

    @beside
    def _state_at(self, height: int, *, only_unspent: bool) -> Iterator[Page]:
        return self._iterate(self._backend.state_at, height, only_unspent=only_unspent)

    @beside
    def _versions(self, first: int, last: int) -> Iterator[Page]:
        return self._iterate(self._backend.versions, first, last)


class SnapshotHistory(Historic):
    """Of a backend that knows only the present, and reads beside a write: what rewinds take is kept
    for iterators that are open."""

    _backend: PresentBackend

    def __init__(self, path: str | PathLike[str], *arguments: Any, **options: Any) -> None:
        super().__init__(path, *arguments, **options)
        self._path = Path(path)
        self._snapshots = HistorySnapshots(self._path, self._backend)

    def _state_at(self, height: int, *, only_unspent: bool) -> Iterator[Page]:
        snapshot, reader = self._snapshot(
            lambda newest: self._backend.read_states(0, min(height, newest))
        )
        states_of = partial(self._states_of, reader, only_unspent=only_unspent)
        pages = self._states(snapshot, reader, min(height, snapshot.newest), states_of)
        return unspent_pages(pages) if only_unspent else pages

    def _versions(self, first: int, last: int) -> Iterator[Page]:
        snapshot, packs = self._snapshot(
            lambda newest: self._backend.read(first, min(last, newest), PAGE_ROWS)
        )
        return version_pages(self._path, snapshot.find, self._steps(packs))

    def _rewind(self, block_index: int) -> None:
        with self._snapshots.rewinding(block_index):
            super()._rewind(block_index)

    @reading
    def _snapshot(self, read: Callable[[int], T]) -> tuple[HistorySnapshot, T]:
        """The snapshot of now, and what is read of it, whose newest block has an index. It waits
        for the one who writes."""
        self._read(self._backend.read, -1, -1, 0)  # fault: snapshot-of-what-is-unverified
        with self._snapshots.opening(self._find) as snapshot:
            return snapshot, read(snapshot.newest)

    def _states(
        self,
        snapshot: HistorySnapshot,
        reader: StateReader,
        height: int,
        states_of: Callable[[int], Page],
    ) -> Iterator[Page]:
        """The coins of a snapshot's blocks, as of a height up to which a reader goes."""
        while self._next_coins_of(reader):
            yield from cut(snapshot.with_taken(snapshot.read(height, states_of), height))

    @beside
    def _next_coins_of(self, reader: StateReader) -> int:
        return reader.next_coins()

    @beside
    def _states_of(self, reader: StateReader, height: int, *, only_unspent: bool) -> Page:
        return reader.states(height, only_unspent=only_unspent)

    @beside
    def _find(self, names: bytes) -> tuple[bytearray, bytearray]:
        return self._read_verified(self._backend.find, names)


if TYPE_CHECKING:
    from cdb.contract.schema import HistoryPacked, HistorySchema

    _keeps: type[HistorySchema] = ViewHistory
    _packs: type[HistoryPacked] = ViewHistory
