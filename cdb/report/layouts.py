"""Layouts and engines below the coin set: which results count, and their tables."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from cdb.report.published_layouts import BADGER, PublishedShape, published_of
from cdb.report.tables import NONE, Table

WALL = "wall_seconds"
AFTER = {"close": "As it was closed", "settle": "Settled"}
PUBLISHED_CAPTION = "Published beside measured, by the clock"
_NOT_HERE = "n/a"


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


def layout_tables(comparison: LayoutComparison) -> Iterator[tuple[str, Table]]:
    """Captions and tables: what was published beside ours, and then all of ours."""
    published = _published(comparison)
    if published is not None:
        yield PUBLISHED_CAPTION, _published_table(comparison, published)
    yield "Writing, and merging what is owed", _writing_table(comparison)
    for after, caption in AFTER.items():
        for name, what in ((WALL, "by the clock"), ("cpu_seconds", "CPU")):
            yield f"{caption}: {what}", _reading_table(comparison, after, name)


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


def _published_table(comparison: LayoutComparison, published: PublishedShape) -> Table:
    """A line for each published time, with ours in each engine."""
    engines = sorted({row.engine for row in comparison.rows}, reverse=True)
    header = ["what", "layout", "published"]
    for engine in engines:
        header += [engine, f"published / {engine}"]
    rows = []
    for each in published.times:
        cells = [f"{each.what}, {each.how}", each.layout, units.duration(each.seconds)]
        for engine in engines:
            row = comparison.row(each.layout, engine)
            spread = None if row is None else row.figure(each.case, WALL)
            if spread is None or not spread.median:
                cells += [_no_figure(row, each.case) if each.layout != BADGER else NONE, NONE]
            else:
                cells += [spread.median_text(WALL), units.times(each.seconds / spread.median)]
        rows.append((*cells, NONE if each.flaw is None else each.flaw.short))
    return Table((*header, "what was wrong with theirs"), tuple(rows), texts=2)


def _writing_table(comparison: LayoutComparison) -> Table:
    write, settle = Case("write"), Case("settle")
    columns = (
        ("write", write, WALL),
        ("CPU", write, "cpu_seconds"),
        ("commit, p50", write, "commit_p50_microseconds"),
        ("written", write, "written_bytes"),
        ("device", write, "device_written_bytes"),
        ("syncs", write, "syncs"),
        ("size", write, "size_bytes"),
        ("settle", settle, WALL),
        ("size then", settle, "size_bytes"),
    )
    return _table(comparison, columns)


def _reading_table(comparison: LayoutComparison, after: str, name: str) -> Table:
    cases = dict.fromkeys(
        case for row in comparison.rows for case in row.figures if case.parameter("after") == after
    )
    return _table(comparison, [(_without_after(case), case, name) for case in cases])


def _table(comparison: LayoutComparison, columns: Sequence[tuple[str, Case, str]]) -> Table:
    rows = (
        (
            row.name,
            str(row.mark) if row.mark in (Mark.RIGHT, Mark.WRONG) else "",
            *(
                _no_figure(row, case) if spread is None else spread.text(name)
                for _, case, name in columns
                for spread in (row.figure(case, name),)
            ),
        )
        for row in comparison.rows
    )
    return Table(("layout", "", *(label for label, _, _ in columns)), tuple(rows), texts=2)


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
