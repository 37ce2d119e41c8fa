"""Snapshots for open iterators of a store whose look-ups know only the present.

A schema keeps, for each snapshot, the blocks as they were then; of a coin it knows what it is now.
As long as nothing was taken back since, a coin now, masked by its height then, is the coin then:
later blocks lie above. A rewind lowers the height up to which that holds; what the blocks above it
had done is read from the blocks of then, once for all who need it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from struct import Struct, iter_unpack
from threading import Lock
from typing import TypeVar
from weakref import WeakSet

from cdb.contract.coins import NAME_BYTES
from cdb.contract.history import PAGE_ROWS, Page, mask
from cdb.contract.packed import CONFIRM_BYTES, INFO_BYTES, INFO_FORMAT, Packed, PackedBlocks
from cdb.errors import CdbError, DatabaseClosedError
from cdb.front.backend import PresentBackend

Find = Callable[[bytes], tuple[bytearray, bytearray]]
"""Looks names up as of now: infos, and whether they were found; see cdb.contract.packed."""

T = TypeVar("T")

_INFO = Struct(INFO_FORMAT)
_CONFIRM = Struct(">32s32sQ")
_SPENT = Struct("=I")


class HistorySnapshot:
    """What look-ups would have given when it was made, whatever came or was taken back since.

    newest: the index of the newest block then; -1 without one. One thread reads.
    """

    def __init__(self, newest: int, find: Find) -> None:
        self.newest = newest
        self._find = find
        self._kept = newest  # blocks up to this one are as they were
        self._taken: list[tuple[_Taken, int]] = []  # each with the highest block of it that counts

    @property
    def kept(self) -> int:
        """Blocks up to this index are as they were."""
        return self._kept

    def keep(self, block_index: int, taken: "_Taken") -> None:
        """Have what a rewind to this index is about to take."""
        self._taken.append((taken, self._kept))
        self._kept = block_index

    def keep_only(self, block_index: int) -> None:
        """Blocks may come between the newest one left, which this is, and where the rewind led."""
        self._kept = min(self._kept, block_index)  # fault: snapshots-keep-what-was-rewound

    def read(self, height: int, read: Callable[[int], T]) -> T:
        """What read() gives as of the height, or of the highest one below that was never taken
        back. It is called again where a rewind goes lower meanwhile."""
        while True:
            kept = self._kept
            found = read(min(height, kept))
            # Now and not before: a rewind says so before it changes what is found.
            if kept == self._kept:
                return found

    def find(self, names: bytes, heights: Sequence[int]) -> tuple[bytearray, bytearray]:
        """A look-up as of heights, one for each name, none above the newest block of then."""
        infos, found = self._find(names)
        # Now and not before: a rewind says so before it changes what is found.
        kept = self._kept
        if not heights or max(heights) <= kept:
            mask(infos, found, heights)
        else:
            mask(infos, found, [min(height, kept) for height in heights])
            self._add_taken(names, heights, infos, found)
        return infos, found

    def with_taken(self, page: Page, height: int) -> Page:
        """A page of what read() gave, as of the height itself."""
        if height <= self._kept:
            return page
        names, infos = bytes(page.names), bytearray(page.infos)
        n = len(names) // NAME_BYTES
        self._add_taken(names, [height] * n, infos, bytearray(n))
        return Page(names, infos)

    def _add_taken(
        self, names: bytes, heights: Sequence[int], infos: bytearray, found: bytearray
    ) -> None:
        """Add to a look-up what blocks did that were taken back: the lower ones were, later."""
        for taken, newest in reversed(self._taken[:]):
            taken.add(names, [min(height, newest) for height in heights], infos, found)


class _Taken:
    """What blocks did that a rewind took back, for all snapshots that they are of.

    A few blocks are read at once, so that they keep nothing open; more by the first who needs them.
    300 bytes a coin.
    """

    def __init__(self, path: Path, packs: Iterator[PackedBlocks]) -> None:
        self._path = path
        self._packs = packs
        self._is_whole = False
        self._is_between = True  # two packs
        self._lock = Lock()
        self._confirms: dict[bytes, tuple[int, bytes]] = {}
        self._spends: dict[bytes, int] = {}
        with suppress(CdbError):  # it is raised again where it matters
            for _ in range(2):
                self._read_on()

    def add(self, names: bytes, heights: Sequence[int], infos: bytearray, found: bytearray) -> None:
        """Add it to a look-up as of heights."""
        with self._lock:
            while not self._is_whole:
                self._read_on()
        for place, (name,) in enumerate(iter_unpack("32s", names)):
            confirmed, confirm = self._confirms.get(name, (heights[place] + 1, b""))
            if confirmed <= heights[place]:
                info = _INFO.pack(*_CONFIRM.unpack(confirm), confirmed, 0)
                infos[INFO_BYTES * place : INFO_BYTES * (place + 1)] = info
                found[place] = 1
            spent = self._spends.get(name, 0)
            if 0 < spent <= heights[place]:
                end = INFO_BYTES * (place + 1)
                infos[end - 4 : end] = _SPENT.pack(spent)

    def _read_on(self) -> None:
        if not self._is_between:
            problem = "reading what a rewind took was interrupted; begin again"
            raise DatabaseClosedError(self._path, problem)
        blocks = next(self._packs, None)
        if blocks is None:
            self._is_whole = True
            return
        self._is_between = False
        for place, block_index in enumerate(blocks.indices):
            block = blocks.part(place, place + 1)
            confirms = iter_unpack(f"{CONFIRM_BYTES}s", block.confirms)
            for name, (confirm,) in zip(_names(block.names), confirms, strict=True):
                self._confirms[name] = block_index, confirm
            for name in _names(block.spends):
                self._spends[name] = block_index
        self._is_between = True


class HistorySnapshots:
    """Those of a backend that are still read as of. path: what errors name."""

    def __init__(self, path: Path, backend: PresentBackend) -> None:
        self._path = path
        self._backend = backend
        self._lock = Lock()
        self._open: WeakSet[HistorySnapshot] = WeakSet()

    @contextmanager
    def opening(self, find: Find) -> Iterator[HistorySnapshot]:
        """The snapshot of now. Within, blocks up to its newest one may come, but are not taken."""
        with self._lock:
            snapshot = HistorySnapshot(self._newest(), find)
            self._open.add(snapshot)  # fault: snapshots-not-told-of-rewinds
            yield snapshot

    @contextmanager
    def rewinding(self, block_index: int) -> Iterator[None]:
        """Within, blocks above an index are taken back."""
        block_index = max(-1, block_index)
        with self._lock:
            concerned = [snapshot for snapshot in list(self._open) if snapshot.kept > block_index]
            if concerned:
                highest = max(snapshot.kept for snapshot in concerned)
                taken = _Taken(self._path, self._read(block_index + 1, highest))
                for snapshot in concerned:
                    snapshot.keep(block_index, taken)
            yield
            for snapshot in concerned:
                snapshot.keep_only(self._newest())

    def _newest(self) -> int:
        newest = self._backend.newest_index
        return -1 if newest is None else newest

    def _read(self, first: int, last: int) -> Iterator[PackedBlocks]:
        """Blocks that are about to be taken: an error is for who reads them, not who rewinds."""
        try:
            return self._backend.read(first, last, PAGE_ROWS)
        except CdbError as error:
            return iter(partial(_raise, error), None)


def _raise(error: CdbError) -> None:
    raise error.with_traceback(None)


def _names(packed: Packed) -> Iterator[bytes]:
    return (name for (name,) in iter_unpack("32s", packed))
