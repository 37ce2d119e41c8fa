"""What history must answer, from a replay's text alone.

A scan is checked in parts, so that one that ends before all rows are read is checked, too: of a
state 256 parts, by the first byte of a name and by the block that confirms a coin, whichever order
a schema gives it in, each with a count and an order-free digest (the sum of the SHA-256 of each
row); of versions the digest of all rows up to some blocks. A row has 40 bytes; see
cdb.contents.history_digest, with whose digests those of all parts together agree.
"""

import json
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from struct import Struct

from cdb.contents.history_digest import RowsDigest
from cdb.contract.coins import NAME_BYTES
from cdb.contract.history import BY_CREATION, BY_NAME

PARTS = 256
TENTH = 10
HEIGHTS = (1, 100, 10_000)
"""How many heights versions are asked of."""
PLACES = ("start", "middle", "tip")
ALL = "all"
MARK_ROWS = 16_384
STATES = TIP, UNSPENT, EARLY = ("tip", "unspent", "tenth")

_INDEX = Struct(">I")
_INDICES = Struct(">II")
_NEVER = bytes(4)
_LAST = 1 << 256


@dataclass(frozen=True, slots=True)
class StateTruth:
    """A state's parts in each order: how many rows each has, and its digest as a number in hex."""

    parts: dict[str, list[tuple[int, str]]]

    @property
    def whole(self) -> RowsDigest:
        """All of it."""
        counts, digests = zip(*self.parts[BY_NAME], strict=True)
        return RowsDigest(sum(counts), f"{sum(int(each, 16) for each in digests) % _LAST:064x}")


@dataclass(frozen=True, slots=True)
class WindowTruth:
    """Versions from the first block to the last one, in so many heights (ALL: in all of them) at a
    place of PLACES.

    marks: after some blocks, and at the end, how many rows there were, and the digest of all.
    """

    heights: int | str
    place: str
    first: int
    last: int
    marks: list[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class HistoryTruth:
    """states: by the names of STATES. early_height: as of which there is the state EARLY. bounds:
    the first blocks of the parts by creation, but of the first one."""

    early_height: int
    bounds: list[int]
    states: dict[str, StateTruth]
    windows: list[WindowTruth]

    def write(self, path: Path) -> None:
        """As JSON."""
        path.write_text(json.dumps(asdict(self)), "ascii")

    @classmethod
    def read(cls, path: Path) -> "HistoryTruth":
        """What write() wrote."""
        fields = json.loads(path.read_text("ascii"))
        states = {name: StateTruth(**each) for name, each in fields.pop("states").items()}
        windows = [WindowTruth(**each) for each in fields.pop("windows")]
        return cls(**fields, states=states, windows=windows)


class HistoryRecorder:
    """Is told of each block in order, and tells the truth in the end. Takes some 100 bytes a coin
    that is there and will be spent.

    indices, coins: of all blocks, and their numbers of coins.
    """

    def __init__(self, indices: "array[int]", coins: "array[int]") -> None:
        self._early_height = indices[-1] // TENTH
        self._bounds = _bounds(indices, coins)
        self._states = {name: _State() for name in STATES}
        self._windows = [_Window(*each) for each in _windows(indices)]
        self._confirmed: dict[bytes, bytes] = {}

    def add(self, index: int, rows: Sequence[bytes], spends: Iterable[bytes]) -> None:
        """rows: of the coins that the block confirms, as they are in the end. spends: names."""
        self._add_coins(index, rows)
        versions = b"".join(sorted(self._versions(index, rows, spends)))
        for window in self._windows:
            window.add(index, versions)

    def truth(self) -> HistoryTruth:
        """Of all blocks so far."""
        return HistoryTruth(
            self._early_height,
            self._bounds,
            {name: state.truth() for name, state in self._states.items()},
            [window.truth() for window in self._windows],
        )

    def _add_coins(self, index: int, rows: Sequence[bytes]) -> None:
        tip, unspent, early = self._states.values()
        part = bisect_right(self._bounds, index)
        for row in rows:
            number = number_of(row)
            tip.add(row, part, number)
            is_unspent = row[-4:] == _NEVER
            if is_unspent:
                unspent.add(row, part, number)
            if index <= self._early_height:
                if not is_unspent and _INDEX.unpack(row[-4:])[0] > self._early_height:
                    row = row[:-4] + _NEVER
                    number = number_of(row)
                early.add(row, part, number)

    def _versions(
        self, index: int, rows: Sequence[bytes], spends: Iterable[bytes]
    ) -> Iterable[bytes]:
        """What the block leaves of the coins that it touches."""
        this = _INDEX.pack(index)
        for row in rows:
            spent = row[-4:]
            if spent in (_NEVER, this):
                yield row
            else:
                yield row[:-4] + _NEVER
                self._confirmed[row[:NAME_BYTES]] = this
        for name in spends:
            confirmed = self._confirmed.pop(name, None)
            if confirmed is not None:  # else it is of this block, and is told of
                yield name + confirmed + this


def number_of(row: bytes) -> int:
    """A row's digest as a number."""
    return int.from_bytes(sha256(row).digest(), "big")


class _State:
    """Adds up parts in both orders."""

    def __init__(self) -> None:
        self._counts = {order: [0] * PARTS for order in (BY_NAME, BY_CREATION)}
        self._sums = {order: [0] * PARTS for order in (BY_NAME, BY_CREATION)}

    def add(self, row: bytes, part: int, number: int) -> None:
        """part: by creation."""
        for order, place in ((BY_NAME, row[0]), (BY_CREATION, part)):
            self._counts[order][place] += 1
            self._sums[order][place] += number

    def truth(self) -> StateTruth:
        parts = {
            order: [
                (count, f"{total % _LAST:x}")
                for count, total in zip(counts, self._sums[order], strict=True)
            ]
            for order, counts in self._counts.items()
        }
        return StateTruth(parts)


class _Window:
    """Digests versions in their order."""

    def __init__(self, heights: int | str, place: str, first: int, last: int) -> None:
        self._which = (heights, place, first, last)
        self._first, self._last = first, last
        self._digest = sha256()
        self._rows = 0
        self._marks: list[tuple[int, str]] = []

    def add(self, index: int, versions: bytes) -> None:
        """Those of a block."""
        if self._first <= index <= self._last:
            self._digest.update(versions)
            self._rows += len(versions) // (NAME_BYTES + _INDICES.size)
            marked = self._marks[-1][0] if self._marks else 0
            if self._rows - marked >= MARK_ROWS:
                self._mark()

    def truth(self) -> WindowTruth:
        self._mark()
        return WindowTruth(*self._which, self._marks)

    def _mark(self) -> None:
        self._marks.append((self._rows, self._digest.hexdigest()))


def _bounds(indices: "array[int]", coins: "array[int]") -> list[int]:
    """The first blocks of parts of about as many coins, but of the first one."""
    ends = list(accumulate(coins))
    starts = (bisect_right(ends, ends[-1] * part // PARTS) for part in range(1, PARTS))
    return [indices[min(start, len(indices) - 1)] for start in starts]


def _windows(indices: "array[int]") -> Iterable[tuple[int | str, str, int, int]]:
    """Those that the replay has heights for; all but the last ones begin at a block."""
    first, newest = indices[0], indices[-1]
    middle = indices[bisect_right(indices, (first + newest) // 2) - 1]
    for heights in HEIGHTS:
        if heights <= newest - first + 1:
            start_of_middle = min(middle, newest - heights + 1)
            starts = first, start_of_middle, newest - heights + 1
            for place, start in zip(PLACES, starts, strict=True):
                yield heights, place, start, start + heights - 1
    yield ALL, PLACES[0], first, newest
