"""Layouts and engines below the coin set: their tables, and what was published of them."""

from collections.abc import Iterator

from cdb.report import units
from cdb.report.model import Case, Group
from cdb.report.parts import NONE, Table
from cdb.report.published_layouts import Published, PublishedShape, published_of
from cdb.report.tables import Column, cell, figure_table

WALL, CPU = "wall_seconds", "cpu_seconds"
WRITE = Case("write")
AFTER = {"close": "As it was closed", "settle": "After compaction"}
_WRITING = (
    ("write", WRITE, WALL),
    ("CPU", WRITE, CPU),
    ("commit, p50", WRITE, "commit_p50_microseconds"),
    ("written", WRITE, "written_bytes"),
    ("device", WRITE, "device_written_bytes"),
    ("disk flushes", WRITE, "device_flushes"),
    ("size", WRITE, "size_bytes"),
    ("compaction", Case("settle"), WALL),
    ("size then", Case("settle"), "size_bytes"),
)
"""Columns: labels, cases, and names of figures."""


def conditions(group: Group) -> str:
    """What it is of: ``canopy-10k: 10,000 keys, 50 versions, …``."""
    shape = dict(group.setting.asked)
    value = f"values of {shape['value_bytes']:,} bytes"
    if shape["period_bytes"]:
        value += f" that repeat each {shape['period_bytes']}"
    return (
        f"{group.setting.source}: {shape['keys']:,} keys, {shape['versions']:,} versions, "
        f"{shape['rewritten_per_million'] / 1e4:g} % of the keys rewritten in each, {value}"
    )


def how(group: Group) -> str:
    """Whose figures it is beside, and what it was measured with."""
    setting, software = group.setting, dict(group.software)
    engines = [told for name, told in software.items() if name.endswith(" engine")]
    published = _published(group)
    source = "" if published is None else f"Published: {published.source}. "
    return (
        f"{source}Here: {setting.profile}, {', '.join(engines)}; begun {', '.join(group.begun)}; "
        f"durability {setting.durability}, a commit a version; a cache of "
        f"{units.size(dict(setting.asked)['cache_bytes'])} where the engine has one."
    )


def layout_tables(group: Group) -> Iterator[Table]:
    """All that was measured: writing, and then reading."""
    writing = [Column(*each, compared=False) for each in _WRITING]
    yield from figure_table(group, "Writing, and merging what is owed", writing, "layout")
    for after, caption in AFTER.items():
        cases = [case for case in group.cases() if case.parameter("after") == after]
        for name, what in ((WALL, "by the clock"), (CPU, "CPU")):
            columns = [Column(_without_after(case), case, name, compared=False) for case in cases]
            yield from figure_table(group, f"{caption}: {what}", columns, "layout")


def flaw_lines(group: Group) -> tuple[str, ...]:
    """What was wrong with what was published of this shape."""
    published = _published(group)
    return () if published is None else published.lines()


def _published(group: Group) -> PublishedShape | None:
    return published_of(group.setting.source, dict(group.setting.asked))


def published_table(group: Group) -> Table | None:
    """A line for each published time, with ours in each engine; None where there is none.

    A read is one thread's, in memory: its CPU is what it takes where nobody else is busy.
    """
    published = _published(group)
    if published is None:
        return None
    engines = sorted({row.schema.rpartition("@")[2] for row in group.rows}, reverse=True)
    header = ["what", "layout", "published"]
    for engine in engines:
        header += [f"{engine}: clock", "CPU", f"published / {engine}"]
    rows = (
        (
            f"{each.what}, {each.how}",
            each.layout,
            units.duration(each.seconds),
            *(cell for engine in engines for cell in _ours(group, engine, each)),
            NONE if each.flaw is None else each.flaw.short,
        )
        for each in published.times
    )
    title = f"Published beside measured, {group.setting.source}"
    return Table.of_texts(title, (*header, "what was wrong with theirs"), rows, words=2)


def _ours(group: Group, engine: str, theirs: Published) -> tuple[str, str, str]:
    """By the clock, CPU, and how many times as long theirs took."""
    row = group.row(f"{theirs.layout}@{engine}")
    if row is None:
        return NONE, NONE, NONE
    wall, cpu = (row.figure(theirs.case, name) for name in (WALL, CPU))
    if wall is None or cpu is None:
        problem = cell(group, row, Column("", theirs.case, WALL)).text
        return problem, problem, NONE
    compared = wall if theirs.case == WRITE else cpu
    ratio = _times(theirs.seconds / compared.median) if compared.median else NONE
    return wall.median_text(WALL), cpu.median_text(CPU), ratio


def _times(ratio: float) -> str:
    """Most are below 1."""
    return units.times(ratio) if ratio >= 0.95 else f"×{ratio:.2g}"


def _without_after(case: Case) -> str:
    parameters = {name: value for name, value in case.parameters if name != "after"}
    return str(Case.of(case.workload, parameters))
