"""Published figures of engines, and what was measured here beside them.

Facts and figures are theirs: of "Secure Scuttlebutt Go Database Benchmark" (2 March 2023; Go
1.20.1, Margaret 0.4.3, bbolt 1.3.7, Badger 4.0.1; a Ryzen 7 3700X) and of notes on random reads by
ioarena and db_bench (a server of 32 cores and 126 GB).
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from cdb.report import units
from cdb.report.model import LOAD, Case, Group, is_more_better
from cdb.report.parts import NONE, Items, Part, Table
from cdb.report.uses import FIND, SIZE, lookups

BADGER, BBOLT, LOG = "interval@badger", "interval@bbolt", "offset_log"
ROCKSDB, MDBX, PEBBLE = "interval@rocksdb", "interval@mdbx", "interval@pebble"


class _Shape(NamedTuple):
    """What was measured, the published shares of the slowest, and what it is here.

    cases: those of which one is it; none: the first of the workload `what`.
    """

    what: str
    shares: Mapping[str, int]
    cases: Sequence[Case]
    figure: str


def _shares(badger: int, bbolt: int, log: int) -> Mapping[str, int]:
    return MappingProxyType({BADGER: badger, BBOLT: bbolt, LOG: log})


_SHAPES = (
    _Shape("append · load", _shares(65, 96, 100), (LOAD,), "coins_per_second"),
    _Shape("read_random, one by one", _shares(99, 63, 100), lookups(batch=1), FIND.figure),
    _Shape("read_iterate", _shares(25, 2, 100), (), "coins_per_second"),
    _Shape("size", _shares(54, 100, 51), (LOAD,), SIZE.figure),
)
_BY_THREADS: Mapping[int, tuple[int, int]] = MappingProxyType(
    {2: (12, 21), 4: (30, 48), 8: (85, 97), 16: (180, 180), 32: (300, 360), 64: (350, 800)}
)
"""Thousands of look-ups a second in RocksDB and in MDBX."""
_PEBBLE: Mapping[tuple[int, str], tuple[str, str]] = MappingProxyType(
    {
        (32, "cold"): ("264,207", "286,286"),
        (64, "cold"): ("292,888 … 383,616", "297,291"),
        (32, "warm"): ("322,686", "349,687"),
        (64, "warm"): ("352,660 … 420,651", "363,662"),
    }
)
"""Look-ups a second in RocksDB and in Pebble, by threads and by what was in memory."""
FLAWS = (
    "Margaret's Sync does nothing, so its appends wait for no disk; offset_log, in its manner, "
    "syncs data and offsets. Appends were of 5,000 values of 250 to 300 bytes.",
    "bbolt's file doubles until 1 GiB: who published its size thinks that it is mostly empty.",
    "Published shares are of the slowest of each chart, so no time is known.",
    "By threads: 1.6 billion keys of 16 bytes, in 84 GB (RocksDB) and 128 GB (MDBX) beside 126 GB "
    "of memory; how much was in memory is not said. The notes call 350 k/s of RocksDB inaccurate.",
    "Pebble: 2 billion keys in 236 GB. The same notes read 250 k/s with 1,000 open files, and 620 "
    "k/s with 100,000.",
    "None says that it checked an answer.",
)


def published_parts(group: Group) -> Iterator[Part]:
    """Tables, and what was wrong; nothing where none of it was measured here."""
    tables = [*_shares_table(group), *_threads_table(group), *_pebble_table(group)]
    if tables:
        yield from tables
        yield Items(FLAWS)


def _median(group: Group, schema: str, cases: Sequence[Case], figure: str) -> float | None:
    """Of the last of the cases that there are: packed answers come behind objects."""
    spreads = (group.figure(schema, case, figure) for case in reversed(cases))
    return next((spread.median for spread in spreads if spread is not None), None)


def _shares_table(group: Group) -> Iterator[Table]:
    """What each took, published and here, as shares of the slowest."""
    contestants = (BADGER, BBOLT, LOG)
    rows = []
    for shape in _SHAPES:
        cases = shape.cases or [case for case in group.cases() if case.workload == shape.what]
        here = [_median(group, each, cases, shape.figure) for each in contestants]
        costs = [1 / value if value and is_more_better(shape.figure) else value for value in here]
        told = [cost for cost in costs if cost]
        if len(told) < 2:
            continue
        texts = [f"{cost / max(told):.0%}" if cost else NONE for cost in costs]
        published = [f"{shape.shares[each]}%" for each in contestants]
        rows.append((shape.what, *published, *texts))
    if rows:
        names = ("Badger", "bbolt", "Margaret")
        header = ("what", *(f"published: {each}" for each in names), *contestants)
        yield Table.of_texts("Scuttlebutt: time or space, of the slowest's", header, rows)


def _threads_table(group: Group) -> Iterator[Table]:
    lines = [
        (
            (str(threads), f"{rocksdb} k/s", f"{mdbx} k/s", units.times(mdbx / rocksdb)),
            lookups(batch=1, threads=threads, cache="cold"),
        )
        for threads, (rocksdb, mdbx) in _BY_THREADS.items()
    ]
    names = ("threads", "published: RocksDB", "published: MDBX", "published: MDBX / RocksDB")
    yield from _pairs("Look-ups one by one, not in memory, by threads", names, group, MDBX, lines)


def _pebble_table(group: Group) -> Iterator[Table]:
    lines = [
        (
            (f"{threads} threads, {cache}", *published),
            lookups(threads=threads, cache=cache, batch=1 if cache == "cold" else 1000),
        )
        for (threads, cache), published in _PEBBLE.items()
    ]
    names = ("reads", "published: RocksDB", "published: Pebble")
    yield from _pairs("Pebble against RocksDB", names, group, PEBBLE, lines)


def _pairs(
    caption: str,
    names: Sequence[str],
    group: Group,
    other: str,
    lines: Sequence[tuple[Sequence[str], Sequence[Case]]],
) -> Iterator[Table]:
    """What was published, and behind it the same cases here, in RocksDB and in another engine."""
    rows = []
    for published, cases in lines:
        here = [_median(group, each, cases, FIND.figure) for each in (ROCKSDB, other)]
        rows.append((*published, *_beside(*here)))
    if any(row[-1] != NONE for row in rows):
        yield Table.of_texts(caption, (*names, ROCKSDB, other, "ratio"), rows)


def _beside(one: float | None, other: float | None) -> list[str]:
    """Two rates, and how much better the other one is."""
    texts = [NONE if each is None else units.text(FIND.figure, each) for each in (one, other)]
    return [*texts, units.times(other / one) if one and other else NONE]
