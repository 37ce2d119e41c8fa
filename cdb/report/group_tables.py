"""The tables of a group: in each a row a schema and a column a figure."""

from collections.abc import Iterator, Mapping

from cdb.report import units
from cdb.report.model import LOAD, SETTLE, TOTAL, Case, Group
from cdb.report.parts import Table
from cdb.report.tables import Column, figure_table

LOOKUPS = ("read_random",)
READING = ("read_sequential", "read_iterate", "read_beside", "snapshot")
HISTORY = ("historical", "latest", "archival")
TIP = ("append", "objects", "rewind", "open")
_TITLES = {
    "read_random": "Look-ups per second",
    "read_sequential": "Look-ups in the order of creation, per second",
    "read_iterate": "Blocks read in their order, per second",
    "read_beside": "A call beside a load",
    "snapshot": "A load while a snapshot is open",
    "historical": "Look-ups and scans as of a height, per second",
    "latest": "All unspent coins: rows per second",
    "archival": "What blocks left of coins: rows per second",
    "append": "A durable commit",
    "objects": "accept_block of objects",
    "rewind": "A durable rewind",
    "open": "Opening, until it answers",
}
"""Of any other workload its name."""
_ELSEWHERE = ("load", "settle", "digest", "memory")
"""Workloads whose figures are columns of other tables."""
_FIGURES = (
    *("names_per_second", "rows_per_second", "blocks_per_second", "milliseconds"),
    *("commit_p50_microseconds", "call_p50_microseconds", "coins_per_second"),
)
"""A column has the first of these that its case has; its other figures stand below."""
_TOGETHER = (
    tuple(f"call_{each}_microseconds" for each in ("p50", "p99", "p999", "max")),
    tuple(f"call_{each}_microseconds" for each in ("p50", "p99", "max")),
    tuple(f"commit_{each}_microseconds" for each in ("p99", "max")),
)
BELOW = (
    "Below a figure stands how long a call took: p50 · p99 · max, or p50 · p99 · p99.9 · max "
    "beside a load; of a commit p99 · max. 99 of 100 calls took no longer than p99."
)
"""What notes mean: figures of one kind stand in one line, where a case has them all. Of HISTORY
they are left to the results' files: with them they would be a tenth of the page."""
_LEFT_OUT = {"plain_names_per_second", "commits", "rows", "coins"}
"""What is in another one, or says how much was asked."""
_OF_A_TABLE = ("names", "cache", "state", "form", "scan")
"""Parameters that tables differ in; columns differ in the others."""
_WORDS = {
    "existing": "names that exist",
    "absent": "names that don't exist",
    "recent": "names of new coins",
    "warm": "files in memory",
    "cold": "files not in memory",
    "settled": "after compaction",
    "unsettled": "before compaction",
    "packed": "answers as packed bytes",
    "objects": "answers as objects",
    "close": "after a clean close",
    "kill": "after kill -9",
    "loss": "with its derived files lost",
    "creation": "around creation",
    "spend": "around the spend",
    "tenth": "at a tenth",
    "half": "at half",
    "random": "at random heights",
}
"""What a value of a parameter means."""


def other_workloads(group: Group) -> tuple[str, ...]:
    """Those that no table and no column is made for."""
    named = {*LOOKUPS, *READING, *HISTORY, *TIP, *_ELSEWHERE}
    return tuple(dict.fromkeys(c.workload for c in group.cases() if c.workload not in named))


def workload_tables(group: Group, workloads: tuple[str, ...]) -> Iterator[Table]:
    """All cases of workloads: a table for each way of asking, in it a column for each case."""
    for workload in workloads:
        cases = [case for case in group.cases() if case.workload == workload]
        ways = dict.fromkeys(map(_way, cases))
        # What a load measures first comes last.
        for way in sorted(ways, key=lambda each: _WORDS["unsettled"] in each):
            columns = [_column(group, case) for case in cases if _way(case) == way]
            caption = " · ".join([_TITLES.get(workload, workload), *way])
            yield from figure_table(group, caption, [each for each in columns if each])


def _column(group: Group, case: Case) -> Column | None:
    names = dict.fromkeys(name for row in group.rows for name in row.figures.get(case, ()))
    figure = next((name for name in _FIGURES if name in names), None)
    if figure is None:
        return None
    left = [name for name in names if name != figure and name not in _LEFT_OUT]
    notes = []
    for together in _TOGETHER:
        if all(name in names for name in together):
            if case.workload not in HISTORY:
                notes.append(("", together))
            left = [name for name in left if name not in together]
            break
    notes += [(units.label(name), (name,)) for name in left]
    return Column(_label(case) or "each", case, figure, tuple(notes))


def _way(case: Case) -> tuple[str, ...]:
    values = [case.parameter(name) for name in _OF_A_TABLE]
    return tuple(_WORDS.get(str(each), str(each)) for each in values if each is not None)


def _label(case: Case) -> str:
    parts = [_parameter(*each) for each in case.parameters if each[0] not in _OF_A_TABLE]
    return ", ".join(filter(None, parts))


def _parameter(name: str, value: str | int) -> str:
    if isinstance(value, str):
        return _WORDS.get(value, value)
    if name == "batch":
        return "one by one" if value == 1 else f"in {value:,}s"
    what = name.rpartition("_")[2]
    if value == 1:
        return "" if name == "threads" else f"1 {what.removesuffix('s')}"
    return f"{value:,} {what}"


_COSTS: Mapping[str, Mapping[Case, str]] = {
    "What a load costs in time": {
        LOAD: "wall_seconds wall_floor_ratio coins_per_second",
        SETTLE: "wall_seconds",
        TOTAL: "wall_seconds",
    },
    "What a load costs of the processor": {
        LOAD: "user_seconds system_seconds cpu_microseconds_per_coin cpu_floor_ratio",
    },
    "Size on disk": {
        LOAD: "size_bytes size_bytes_per_coin allocated_bytes",
        SETTLE: "size_bytes",
    },
    "Written and read by a load": {
        LOAD: "write_amplification written_bytes disk_written_bytes device_written_bytes "
        "device_read_bytes syncs device_flushes",
    },
    "A flush of the load": {
        LOAD: "flush_p50_microseconds flush_p99_microseconds flush_max_microseconds flushes",
    },
    "Memory, and a load with little of it": {
        LOAD: "peak_rss_bytes page_cache_bytes",
        Case("memory"): "limited_seconds unlimited_seconds ratio limit_bytes",
    },
}
"""By caption and case the figures, in the order of columns."""
_CASES = {SETTLE: "compaction owed: ", TOTAL: "with compaction: "}
_NOT_COMPARED = ("floor_ratio", "flushes", "page_cache_bytes", "limit_bytes")


def cost_tables(group: Group) -> Iterator[Table]:
    """What a load takes: time, processor, disk and memory, in tables as narrow as a page."""
    for caption, figures in _COSTS.items():
        columns = [
            Column(
                f"{_CASES.get(case, '')}{units.label(name)}",
                case,
                name,
                compared=case != SETTLE and not name.endswith(_NOT_COMPARED),
            )
            for case, names in figures.items()
            for name in names.split()
        ]
        yield from figure_table(group, caption, columns)
