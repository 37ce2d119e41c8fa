"""The tables of a group: in each a row a schema and a column a figure."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from cdb.report.history_tables import history_tables
from cdb.report.model import LOAD, SETTLE, TOTAL, Case, Group
from cdb.report.tables import Column, FigureTable, Notes, figure_table

_LATENCY: Notes = (
    (
        "call",
        ("call_p50_microseconds", "call_p99_microseconds", "call_max_microseconds"),
    ),
)
_COMMIT: Notes = (
    ("p99 · max", ("commit_p99_microseconds", "commit_max_microseconds")),
    ("a bare append", ("bare_p50_microseconds",)),
    ("against it", ("ratio",)),
    ("coins", ("coins_per_second",)),
)


def cost_tables(group: Group) -> Iterator[FigureTable]:
    """What a load takes: time, processor, disk and memory, in tables as narrow as a page."""
    yield from figure_table(
        group,
        "Time",
        [
            Column("load", LOAD, "wall_seconds"),
            Column("× floor", LOAD, "wall_floor_ratio", compared=False),
            Column("compaction owed", SETTLE, "wall_seconds", compared=False),
            Column("load and compaction", TOTAL, "wall_seconds"),
            Column("coins/s", LOAD, "coins_per_second"),
        ],
    )
    yield from figure_table(
        group,
        "Processor",
        [
            Column("CPU, user", LOAD, "user_seconds"),
            Column("CPU, system", LOAD, "system_seconds"),
            Column("CPU a coin", LOAD, "cpu_microseconds_per_coin"),
            Column("CPU × floor", LOAD, "cpu_floor_ratio", compared=False),
        ],
    )
    yield from figure_table(
        group,
        "Size on disk",
        [
            Column("size", LOAD, "size_bytes"),
            Column("size a coin", LOAD, "size_bytes_per_coin"),
            Column("allocated", LOAD, "allocated_bytes"),
            Column("settled size", SETTLE, "size_bytes"),
        ],
    )
    yield from figure_table(
        group,
        "Written and read",
        [
            Column("write amplification", LOAD, "write_amplification"),
            Column("written in calls", LOAD, "written_bytes"),
            Column("written to the disk", LOAD, "disk_written_bytes"),
            Column("written at the device", LOAD, "device_written_bytes"),
            Column("read at the device", LOAD, "device_read_bytes"),
            Column("syncs", LOAD, "syncs"),
        ],
    )
    yield from figure_table(
        group,
        "Memory, and with little of it",
        [
            Column("peak RSS", LOAD, "peak_rss_bytes"),
            Column("page cache", LOAD, "page_cache_bytes", compared=False),
            Column("load with a limit", Case("memory"), "limited_seconds"),
            Column("without", Case("memory"), "unlimited_seconds"),
            Column("limited / unlimited", Case("memory"), "ratio"),
            Column("the limit", Case("memory"), "limit_bytes", compared=False),
        ],
    )


def lookup_tables(group: Group) -> Iterator[FigureTable]:
    """Names a second: a table for each way of asking, a column for each batch and thread count."""
    cases = _cases(group, "read_random")
    ways = dict.fromkeys(_way(case) for case in cases)
    # Unsettled ones, which a load measures first, come last.
    for way in sorted(ways, key=lambda each: "unsettled" in each):
        columns = [
            Column(_batch(case), case, "names_per_second", (*_LATENCY, _PAGES))
            for case in cases
            if _way(case) == way
        ]
        yield from figure_table(group, way, columns)


def reading_tables(group: Group) -> Iterator[FigureTable]:
    """Lookups in the order of creation, and whole blocks."""
    sequential = _cases(group, "read_sequential")
    iterate = _cases(group, "read_iterate")
    yield from figure_table(
        group,
        "In order",
        [
            *(
                Column(f"{_cache(case)}: {_batch(case)}", case, "names_per_second", _LATENCY)
                for case in sequential
            ),
            *(
                Column(
                    f"blocks(), {case.parameter('blocks'):,} blocks",
                    case,
                    "blocks_per_second",
                    (("coins", ("coins_per_second",)),),
                )
                for case in iterate
            ),
        ],
    )
    yield from _beside_tables(group)


def _beside_tables(group: Group) -> Iterator[FigureTable]:
    """Lookups in one thread while another loads."""
    columns = (
        ("p50", "call_p50_microseconds"),
        ("p99", "call_p99_microseconds"),
        ("p99.9", "call_p999_microseconds"),
        ("max", "call_max_microseconds"),
        ("coins/s of the load", "coins_per_second"),
    )
    for case in _cases(group, "read_beside"):
        caption = f"A call of {case.parameter('batch'):,} names beside a load"
        yield from figure_table(
            group, caption, [Column(label, case, name) for label, name in columns]
        )


def tip_tables(group: Group) -> Iterator[FigureTable]:
    """What a node does when it has caught up: commits, rewinds, opening."""
    yield from figure_table(
        group,
        "A durable commit, median",
        [
            *(
                Column(
                    f"of {case.parameter('commit_coins'):,} coins",
                    case,
                    "commit_p50_microseconds",
                    _COMMIT,
                )
                for case in _cases(group, "append")
            ),
        ],
    )
    yield from figure_table(
        group,
        "A flush of the load",
        [
            Column("p50", LOAD, "flush_p50_microseconds"),
            Column("p99", LOAD, "flush_p99_microseconds"),
            Column("max", LOAD, "flush_max_microseconds"),
            Column("flushes", LOAD, "flushes", compared=False),
            Column("accept_block of objects", Case("objects"), "coins_per_second"),
        ],
    )
    yield from figure_table(
        group,
        "A durable rewind",
        [
            Column(
                f"of {case.parameter('heights'):,} heights".replace("of 1 heights", "of 1 height"),
                case,
                "milliseconds",
                (("coins taken back", ("coins",)),),
            )
            for case in _cases(group, "rewind")
        ],
    )
    yield from figure_table(
        group,
        "Opening, until it answers",
        [
            Column(_OPENINGS.get(str(after), f"after {after}"), case, "milliseconds")
            for case in _cases(group, "open")
            for after in (case.parameter("after"),)
        ],
    )


_PAGES = ("pages read for a name", ("pages_per_name",))
_OPENINGS = {
    "close": "after a clean close",
    "kill": "after kill -9",
    "loss": "with its derived files lost",
}


def _cases(group: Group, workload: str) -> list[Case]:
    return [case for case in group.cases() if case.workload == workload and case.parameters]


def _cache(case: Case) -> str:
    return str(case.parameter("cache") or "")


def _way(case: Case) -> str:
    names = ("names", "cache", "state", "form")
    values = [str(case.parameter(name)) for name in names if case.parameter(name) is not None]
    return " · ".join([f"{values[0]} names", *values[1:]])


def _batch(case: Case) -> str:
    parts: Sequence[tuple[str, str]] = (("batch", "in {:,}s"), ("threads", "{} threads"))
    texts = [form.format(case.parameter(name)) for name, form in parts if case.parameter(name)]
    return ", ".join(texts).replace("in 1s", "one by one").replace(" 1 threads", " 1 thread")


SECTIONS: Mapping[str, Callable[[Group], Iterator[FigureTable]]] = {
    "cost": cost_tables,
    "lookups": lookup_tables,
    "reading": reading_tables,
    "history": history_tables,
    "tip": tip_tables,
}
"""In the order of documents."""
