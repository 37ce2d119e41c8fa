"""Layouts and engines below the coin set: which results count, and their tables."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdb.report import units
from cdb.report.cards import cores_of, facts_of, limits_of, load_averages
from cdb.report.model import (
    Case,
    Document,
    LayoutComparison,
    LayoutRow,
    LayoutSetting,
    Mark,
    Problem,
    Spread,
)
from cdb.report.published_layouts import Published, PublishedShape, published_of
from cdb.report.tables import NONE, Table

WALL, CPU = "wall_seconds", "cpu_seconds"
WRITE = Case("write")
AFTER = {"close": "As it was closed", "settle": "Settled"}
_NOT_HERE = "n/a"
_WRITING = (
    ("write", WRITE, WALL),
    ("CPU", WRITE, CPU),
    ("commit, p50", WRITE, "commit_p50_microseconds"),
    ("written", WRITE, "written_bytes"),
    ("device", WRITE, "device_written_bytes"),
    ("syncs", WRITE, "syncs"),
    ("size", WRITE, "size_bytes"),
    ("settle", Case("settle"), WALL),
    ("size then", Case("settle"), "size_bytes"),
)
"""Columns: labels, cases, and names of figures."""


@dataclass(frozen=True, slots=True)
class LayoutTable:
    """A line a layout and engine. cells: names of figures, spreads, and why there is none."""

    caption: str
    labels: tuple[str, ...]
    rows: tuple[tuple[LayoutRow, tuple[tuple[str, Spread | None, str], ...]], ...]

    def as_texts(self) -> Table:
        """With min / median / max of each."""
        rows = (
            (
                row.name,
                mark_text(row),
                *(
                    problem if spread is None else spread.text(name)
                    for name, spread, problem in cells
                ),
            )
            for row, cells in self.rows
        )
        return Table(("layout", "", *self.labels), tuple(rows), texts=2)


def layout_comparisons(documents: Iterable[Document]) -> tuple[LayoutComparison, ...]:
    """Of each setting the newest result of each layout in each engine."""
    newest: dict[LayoutSetting, dict[tuple[str, str], Document]] = defaultdict(dict)
    for document in sorted(documents, key=lambda each: str(each["begun"])):
        for each in document["rounds"]:
            newest[_setting(document)][each["layout"], each["engine"]] = document
    made = (_comparison(setting, rows) for setting, rows in newest.items())
    return tuple(sorted(made, key=lambda each: _order(each.setting)))


def conditions(comparison: LayoutComparison) -> str:
    """What it is of: ``canopy-10k: 10,000 keys, 50 versions, …``."""
    shape = dict(comparison.setting.shape)
    value = f"values of {shape['value_bytes']:,} bytes"
    if shape["period_bytes"]:
        value += f" that repeat each {shape['period_bytes']}"
    return (
        f"{comparison.setting.name}: {shape['keys']:,} keys, {shape['versions']:,} versions, "
        f"{shape['rewritten_per_million'] / 1e4:g} % of the keys rewritten in each, {value}"
    )


def how(comparison: LayoutComparison) -> str:
    """Whose figures it is beside, and what it was measured with."""
    setting, software = comparison.setting, dict(comparison.software)
    engines = [told for name, told in software.items() if name.endswith(" engine")]
    published = _published(comparison)
    source = "" if published is None else f"Published: {published.source}. "
    return (
        f"{source}Here: {setting.profile}, {', '.join(engines)}; begun "
        f"{', '.join(comparison.begun)}; durability {setting.durability}, a commit a version; "
        f"a cache of {units.size(setting.cache_bytes)} where the engine has one."
    )


def busy_line(comparison: LayoutComparison) -> str | None:
    """A warning, where the machine had more to do than its cores can."""
    if not any(row.busy for row in comparison.rows):
        return None
    return (
        "The load average was above the number of cores: times by the clock are those of a busy "
        "machine, and CPU is what counts."
    )


def mark_text(row: LayoutRow) -> str:
    """Whether its answers were right, where anything was answered."""
    return str(row.mark) if row.mark in (Mark.RIGHT, Mark.WRONG) else ""


def layout_tables(comparison: LayoutComparison) -> Iterator[LayoutTable]:
    """All that was measured: writing, and then reading."""
    yield _table("Writing, and merging what is owed", comparison, _WRITING)
    for after, caption in AFTER.items():
        cases = dict.fromkeys(
            case
            for row in comparison.rows
            for case in row.figures
            if case.parameter("after") == after
        )
        for name, what in ((WALL, "by the clock"), (CPU, "CPU")):
            columns = [(_without_after(case), case, name) for case in cases]
            if columns:
                yield _table(f"{caption}: {what}", comparison, columns)


def flaw_lines(comparison: LayoutComparison) -> tuple[str, ...]:
    """What was wrong with what was published of this shape."""
    published = _published(comparison)
    return () if published is None else published.lines()


def problem_lines(comparison: LayoutComparison) -> tuple[str, ...]:
    """What has no figures here, and why, each reason once."""
    lines: dict[str, list[str]] = defaultdict(list)
    for row in comparison.rows:
        for problem in row.problems:
            what = f"{problem.outcome.replace('_', ' ')}: {problem.case}: {problem.reason}"
            if problem.outcome == "not_measured":
                what = f"{_NOT_HERE}: {problem.reason}"
            lines[what].append(row.name)
    return tuple(f"{', '.join(dict.fromkeys(names))}: {what}" for what, names in lines.items())


def _published(comparison: LayoutComparison) -> PublishedShape | None:
    return published_of(comparison.setting.name, dict(comparison.setting.shape))


def published_table(comparison: LayoutComparison) -> Table | None:
    """A line for each published time, with ours in each engine; None where there is none.

    A read is one thread's, in memory: its CPU is what it takes where nobody else is busy.
    """
    published = _published(comparison)
    if published is None:
        return None
    engines = sorted({row.engine for row in comparison.rows}, reverse=True)
    header = ["what", "layout", "published"]
    for engine in engines:
        header += [f"{engine}: clock", "CPU", f"published / {engine}"]
    rows = (
        (
            f"{each.what}, {each.how}",
            each.layout,
            units.duration(each.seconds),
            *(cell for engine in engines for cell in _ours(comparison, engine, each)),
            NONE if each.flaw is None else each.flaw.short,
        )
        for each in published.times
    )
    return Table((*header, "what was wrong with theirs"), tuple(rows), texts=2)


def _ours(comparison: LayoutComparison, engine: str, theirs: Published) -> tuple[str, str, str]:
    """By the clock, CPU, and how many times as long theirs took."""
    row = comparison.row(theirs.layout, engine)
    if row is None:
        return NONE, NONE, NONE
    wall, cpu = (row.figure(theirs.case, name) for name in (WALL, CPU))
    if wall is None or cpu is None:
        problem = _no_figure(row, theirs.case)
        return problem, problem, NONE
    compared = wall if theirs.case == WRITE else cpu
    ratio = _times(theirs.seconds / compared.median) if compared.median else NONE
    return wall.median_text(WALL), cpu.median_text(CPU), ratio


def _times(ratio: float) -> str:
    """Most are below 1."""
    return units.times(ratio) if ratio >= 0.95 else f"×{ratio:.2g}"


def _table(
    caption: str, comparison: LayoutComparison, columns: Sequence[tuple[str, Case, str]]
) -> LayoutTable:
    rows = (
        (
            row,
            tuple(
                (name, row.figure(case, name), _no_figure(row, case)) for _, case, name in columns
            ),
        )
        for row in comparison.rows
    )
    return LayoutTable(caption, tuple(label for label, _, _ in columns), tuple(rows))


def _no_figure(row: LayoutRow | None, case: Case) -> str:
    if row is None:
        return NONE
    if row.mark is Mark.WRONG:
        return "✗ wrong"
    if row.mark is Mark.NOT_MEASURED:
        return _NOT_HERE
    failed = any(problem.outcome == "failed" for problem in row.problems)
    return "failed" if failed and not row.figures.get(case) else NONE


def _without_after(case: Case) -> str:
    parameters = {name: value for name, value in case.parameters if name != "after"}
    return str(Case.of(case.workload, parameters))


def _setting(document: Document) -> LayoutSetting:
    profile, shape = document["profile"], dict(document["shape"])
    return LayoutSetting(
        machine=document["machine"]["name"],
        profile=profile["name"],
        limits=limits_of([profile]),
        name=shape.pop("name"),
        shape=tuple(sorted(shape.items())),
        durability=document["durability"],
        cache_bytes=document["cache_bytes"],
    )


def _order(setting: LayoutSetting) -> tuple[Any, ...]:
    return setting.machine, bool(setting.limits), setting.profile, setting.name, setting.shape


def _comparison(
    setting: LayoutSetting, newest: Mapping[tuple[str, str], Document]
) -> LayoutComparison:
    rows = [_row(layout, engine, document) for (layout, engine), document in newest.items()]
    documents = {id(document): document for document in newest.values()}.values()
    return LayoutComparison(
        setting=setting,
        rows=tuple(sorted(rows, key=lambda row: (row.engine != "rocksdb", row.engine, row.layout))),
        commands=tuple(dict.fromkeys(str(document["command"]) for document in documents)),
        begun=tuple(str(document["begun"]) for document in documents),
        software=facts_of([document["software"] for document in documents]),
    )


def _row(layout: str, engine: str, document: Document) -> LayoutRow:
    rounds = [
        each for each in document["rounds"] if (each["layout"], each["engine"]) == (layout, engine)
    ]
    cases = [case for each in rounds for case in each["cases"]]
    problems = _problems(cases)
    outcomes = {problem.outcome for problem in problems}
    mark = next(
        (
            mark
            for outcome, mark in (
                ("wrong", Mark.WRONG),
                ("failed", Mark.FAILED),
                ("not_measured", Mark.NOT_MEASURED),
            )
            if outcome in outcomes
        ),
        Mark.RIGHT,
    )
    cores = cores_of(document["machine"])
    greatest = max((average for each in rounds for average in load_averages(each)), default=0.0)
    return LayoutRow(
        layout=layout,
        engine=engine,
        mark=mark,
        figures={} if mark is Mark.WRONG else _figures(cases, problems),
        problems=problems,
        busy=cores is not None and greatest > cores,
    )


def _problems(cases: Iterable[Mapping[str, Any]]) -> tuple[Problem, ...]:
    counts: dict[tuple[Case, str, str], int] = defaultdict(int)
    for case in cases:
        if case["outcome"] != "measured":
            reason = case["reason"] or "no reason was given"
            counts[Case.of(case["workload"], case["parameters"]), case["outcome"], reason] += 1
    return tuple(Problem(*key, runs) for key, runs in counts.items())


def _figures(
    cases: Iterable[Mapping[str, Any]], problems: Iterable[Problem]
) -> dict[Case, dict[str, Spread]]:
    """Of cases that never failed."""
    failed = {problem.case for problem in problems}
    values: dict[Case, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for case in cases:
        key = Case.of(case["workload"], case["parameters"])
        for name, value in case["figures"].items():
            if value is not None and not failed & {key, Case(key.workload)}:
                values[key][name].append(value)
    return {
        case: {name: Spread.of(told) for name, told in figures.items()}
        for case, figures in values.items()
    }
