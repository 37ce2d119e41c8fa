"""Scans of history: read page by page for a while, each row held against the truth.

What is read is checked out of the time, in the parts of cdb.bench.history_truth. Where the time is
up in the middle of one, the scan is read on until its end, so that nothing counts that was not
checked.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import groupby, islice
from struct import Struct
from time import perf_counter
from typing import Any, Protocol

from cdb.bench.figures import Figures
from cdb.bench.history_truth import PARTS, HistoryTruth, WindowTruth, number_of
from cdb.contents.history_digest import row_of, rows_of_page
from cdb.contract.coins import CoinInfo
from cdb.contract.history import BY_CREATION, BY_NAME, PAGE_ROWS, Page
from cdb.contract.packed import Packed
from cdb.lab.process import WrongAnswerError
from cdb.process.meter import PeakMemory
from cdb.schemas import HistorySchema

PACKED, OBJECTS = "packed", "objects"

_INDEX = Struct(">I")


class Check(Protocol):
    """Holds rows against the truth, in their order; raises WrongAnswerError."""

    checked: int  # of the rows so far, those known to be right

    def take(self, rows: Sequence[bytes]) -> None:
        """The next rows."""

    def end(self) -> None:
        """There are no more."""


class StateCheck:
    """Of a state, or of what is unspent. order: of its coins; None where nobody says which, so that
    nothing is known before the end."""

    def __init__(self, truth: HistoryTruth, state: str, order: str | None) -> None:
        self.checked = 0
        self._is_ordered = order in (BY_NAME, BY_CREATION)
        self._what = state
        self._parts = truth.states[state].parts[BY_CREATION if order == BY_CREATION else BY_NAME]
        self._bounds = [_INDEX.pack(bound) for bound in truth.bounds]
        self._place_of = self._by_creation if order == BY_CREATION else _by_name
        self._counts, self._sums = [0] * PARTS, [0] * PARTS
        self._done = 0  # parts that are known to be right

    def take(self, rows: Sequence[bytes]) -> None:
        """See Check."""
        for place, part in groupby(rows, self._place_of):
            if self._is_ordered:
                self._finish(place)
            numbers = [number_of(row) for row in part]
            self._counts[place] += len(numbers)
            self._sums[place] += sum(numbers)

    def end(self) -> None:
        """See Check."""
        self._finish(PARTS)

    def _finish(self, stop: int) -> None:
        """All parts below one have come."""
        if stop < self._done:
            self._fail("gave coins out of the order that it has by its module")
        for place in range(self._done, stop):
            count, digest = self._parts[place]
            if (self._counts[place], self._sums[place] % 2**256) != (count, int(digest, 16)):
                self._fail(f"gave {self._counts[place]} rows of a part of {count}, or others")
            self.checked += count
        self._done = stop

    def _fail(self, problem: str) -> None:
        raise WrongAnswerError(f"a scan of {self._what} coins {problem}")

    def _by_creation(self, row: bytes) -> int:
        return bisect_right(self._bounds, row[-8:-4])


def _by_name(row: bytes) -> int:
    return row[0]


class VersionsCheck:
    """Of the versions in a window."""

    def __init__(self, window: WindowTruth) -> None:
        self.checked = 0
        self._window = window
        self._marks = iter(window.marks)
        self._mark: tuple[int, str] | None = next(self._marks)
        self._rows = 0
        self._digest = sha256()

    def take(self, rows: Sequence[bytes]) -> None:
        """See Check."""
        while self._mark is not None and self._rows + len(rows) >= self._mark[0]:
            count, digest = self._mark
            until_mark = count - self._rows
            self._add(rows[:until_mark])
            rows = rows[until_mark:]
            if self._digest.hexdigest() != digest:
                self._fail()
            self.checked = count
            self._mark = next(self._marks, None)
        if rows and self._mark is None:
            self._fail()
        self._add(rows)

    def end(self) -> None:
        """See Check."""
        self.take([])
        if self._mark is not None:
            self._fail()

    def _add(self, rows: Sequence[bytes]) -> None:
        self._digest.update(b"".join(rows))
        self._rows += len(rows)

    def _fail(self) -> None:
        window = self._window
        raise WrongAnswerError(f"versions({window.first}, {window.last}) gave wrong rows")


@dataclass(frozen=True, slots=True)
class Way:
    """A way to scan: start(heights) gives pages, or lists of objects, whose rows are rows_of()."""

    form: str
    start: Callable[..., Iterator[Any]]
    rows_of: Callable[[Any], Sequence[bytes]]


def ways_of(history: HistorySchema, method: str) -> list[Way]:
    """In packed form, where the schema has that, and as objects."""
    objects = Way(OBJECTS, partial(_lists, getattr(history, method)), _rows_of_infos)
    packed = getattr(history, f"{method}_packed", None)
    return [objects] if packed is None else [Way(PACKED, packed, _rows_of_packed), objects]


def shared(ways: Sequence[Way]) -> Iterator[tuple[Way, float]]:
    """Each with its share of a scan's time: the first way has all of it, the other one half."""
    return zip(ways, (1.0, 0.5), strict=False)


def _lists(method: Callable[..., Iterator[CoinInfo]], *heights: int) -> Iterator[list[CoinInfo]]:
    infos = method(*heights)
    with closing(infos):  # type: ignore[type-var]  # an iterator of history has a close()
        yield from iter(lambda: list(islice(infos, PAGE_ROWS)), [])


def _rows_of_infos(infos: Iterable[CoinInfo]) -> list[bytes]:
    return [row_of(info) for info in infos]


def _rows_of_packed(page: tuple[Packed, Packed]) -> list[bytes]:
    return list(rows_of_page(Page(*page)))


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was read within the time. first_seconds: until the first page came."""

    rows: int
    seconds: float
    first_seconds: float
    is_whole: bool


def scan(way: Way, heights: Sequence[int], check: Check, seconds: float) -> Scanned:
    """Scan, or as far as there is time, which is one page at least; and check what came."""
    rows, taken, first = 0, 0.0, 0.0
    is_timed, is_whole = True, False
    start = perf_counter()
    pages = way.start(*heights)
    with closing(pages):  # type: ignore[type-var]  # as above
        while (page := next(pages, None)) is not None:
            call_seconds = perf_counter() - start
            found = way.rows_of(page)
            check.take(found)
            if is_timed:
                taken += call_seconds
                first = first or taken
                rows += len(found)
                is_timed = taken < seconds
            if not is_timed and check.checked >= rows:
                break
            start = perf_counter()
        else:
            if is_timed:
                taken += perf_counter() - start
                is_whole = True
            check.end()
    return Scanned(rows, taken, first or taken, is_whole)


def scan_figures(way: Way, heights: Sequence[int], check: Check, seconds: float) -> Figures:
    """The figures of a scan."""
    memory = PeakMemory()
    done = scan(way, heights, check, seconds)
    return {
        "rows": done.rows,
        "rows_per_second": done.rows / done.seconds,
        "first_page_microseconds": 1e6 * done.first_seconds,
        "memory_bytes": memory.bytes_more(),
    }
