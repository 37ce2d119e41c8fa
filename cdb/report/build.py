"""Results → report: which runs are compared, and which of their figures count."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from cdb.bench.results import is_comparison, is_of_engines, is_run
from cdb.report.cards import (
    cores_of,
    limits_of,
    load_averages,
    machine_cards,
    matrix_cards,
    matrix_key,
)
from cdb.report.derived import WRITTEN_FIGURES, FloorLoads, floor_loads, with_derived
from cdb.report.layouts import layout_comparisons
from cdb.report.model import (
    FLOOR,
    FLOOR_DESCRIPTION,
    LOAD,
    PHASES,
    SETTLE,
    TOTAL,
    Case,
    Document,
    Group,
    Mark,
    Problem,
    Report,
    Row,
    Setting,
    Spread,
)
from cdb.report.node import comparisons

T = TypeVar("T")
_DURABILITIES = ("power", "process", "none")
_MARKS = tuple(Mark)


def build(documents: Iterable[Document], own: Collection[str] = ()) -> Report:
    """The report of these results. Of each schema in each group the newest matrix counts.

    own: machines that come first; all others were measured elsewhere, where it names any.
    """
    raw = tuple(documents)
    of_schemas = [document for document in raw if is_run(document)]
    runs: dict[Setting, dict[str, list[Document]]] = defaultdict(lambda: defaultdict(list))
    for document in of_schemas:
        runs[_setting(document)][document["schema"]["name"]].append(document)
    newest = {
        setting: [_newest(documents) for documents in schemas.values()]
        for setting, schemas in runs.items()
    }
    groups = [
        _group(setting, schemas, floor_loads(runs[setting][FLOOR]))
        for setting, schemas in newest.items()
    ]
    nodes = comparisons(document for document in raw if is_comparison(document))
    counted = {matrix_key(each[0]) for schemas in newest.values() for each in schemas}
    names = {document["machine"]["name"] for document in raw}

    def own_first(parts: Iterable[T], machine: Callable[[T], str]) -> tuple[T, ...]:
        return tuple(sorted(parts, key=lambda each: machine(each) not in own))

    nodes = own_first(nodes, lambda each: each.setting.machine)
    layouts = layout_comparisons(document for document in raw if is_of_engines(document))
    return Report(
        machines=own_first(machine_cards(raw), lambda card: card.name),
        groups=own_first(sorted(groups, key=_group_order), lambda group: group.setting.machine),
        matrices=own_first(matrix_cards(of_schemas, counted), lambda matrix: matrix.machine),
        node=tuple(each for each in nodes if each.setting.week is None),
        weeks=tuple(each for each in nodes if each.setting.week is not None),
        layouts=own_first(layouts, lambda each: each.setting.machine),
        elsewhere=frozenset(names.difference(own) if own else ()),
        raw=raw,
    )


def _setting(document: Document) -> Setting:
    profile, replay = document["profile"], document["replay"]
    return Setting(
        machine=document["machine"]["name"],
        profile=profile["name"],
        limits=limits_of([profile]),
        coins=replay["coins"],
        source=replay["source"],
        digest=replay["digest"],
        durability=document["durability"],
        flush_coins=document["flush_coins"],
    )


def _group_order(group: Group) -> tuple[Any, ...]:
    setting = group.setting
    durability = _DURABILITIES.index(setting.durability)
    is_limited = bool(setting.limits)
    size = (-setting.coins, durability, -setting.flush_coins)
    return (setting.machine, is_limited, setting.profile, *size, setting.digest)


def _newest(documents: Sequence[Document]) -> list[Document]:
    newest = max(document["matrix"]["id"] for document in documents)
    runs = [document for document in documents if document["matrix"]["id"] == newest]
    return sorted(runs, key=lambda document: int(document["run"]))


def _group(setting: Setting, schemas: Sequence[Sequence[Document]], floors: FloorLoads) -> Group:
    written_figure = _written_figure(schemas)
    rows = [_row(documents, written_figure, floors) for documents in schemas]
    return Group(
        setting=setting,
        rows=tuple(sorted((row for row in rows if row.schema != FLOOR), key=_row_order)),
        floor=next((row for row in rows if row.schema == FLOOR), None),
        written_figure=written_figure,
    )


def _row_order(row: Row) -> tuple[Any, ...]:
    wall = row.figure(LOAD, "wall_seconds")
    seconds = float("inf") if wall is None else wall.median
    return (_MARKS.index(row.mark), seconds, row.schema)


def _written_figure(schemas: Sequence[Sequence[Document]]) -> str:
    loads = [
        case["figures"]
        for documents in schemas
        for document in documents
        if document["schema"]["keeps_contract"]
        for case in document["cases"]
        if case["workload"] == LOAD.workload and case["outcome"] == "measured"
    ]
    return next(
        (
            name
            for name in WRITTEN_FIGURES
            if all(figures.get(name) is not None for figures in loads)
        ),
        WRITTEN_FIGURES[-1],
    )


def _row(documents: Sequence[Document], written_figure: str, floors: FloorLoads) -> Row:
    first = documents[0]
    name = first["schema"]["name"]
    cases: dict[Case, list[Mapping[str, Any]]] = defaultdict(list)
    for document in documents:
        for each in with_derived(document, written_figure, floors):
            cases[Case.of(each["workload"], each["parameters"])].append(each)
    problems = [*_problems(cases), *_missing(documents)]
    mark = _mark(cases, problems, keeps_contract=first["schema"]["keeps_contract"])
    is_void = mark is Mark.WRONG
    figures = {} if is_void else _figures(cases, problems)
    loads = cases[LOAD] if LOAD in figures else []
    return Row(
        schema=name,
        description=FLOOR_DESCRIPTION if name == FLOOR else first["schema"]["description"],
        keeps_contract=first["schema"]["keeps_contract"],
        mark=mark,
        runs=len(documents),
        matrix=first["matrix"]["id"],
        figures=figures,
        problems=tuple(problems),
        phases=_phases(loads),
        curves=tuple(tuple((coins, at) for coins, at in each["samples"]) for each in loads),
        load_average=_load_average(documents),
        busy=any(_is_busy(document) for document in documents),
    )


def _problems(cases: Mapping[Case, Sequence[Mapping[str, Any]]]) -> list[Problem]:
    counts: dict[tuple[Case, str, str], int] = defaultdict(int)
    for case, results in cases.items():
        for result in results:
            if result["outcome"] != "measured":
                reason = result["reason"] or "no reason was given"
                counts[case, result["outcome"], reason] += 1
    return [Problem(*key, runs) for key, runs in counts.items()]


def _missing(documents: Sequence[Document]) -> list[Problem]:
    runs = max(document["matrix"]["runs"] for document in documents) - len(documents)
    return [Problem(LOAD, "missing", "left no result", runs)] if runs > 0 else []


def _mark(
    cases: Mapping[Case, Sequence[Mapping[str, Any]]],
    problems: Sequence[Problem],
    *,
    keeps_contract: bool,
) -> Mark:
    if any(problem.outcome == "wrong" for problem in problems):
        return Mark.WRONG
    if any(problem.case == LOAD and problem.outcome == "failed" for problem in problems):
        return Mark.FAILED
    if not any(result["outcome"] == "measured" for result in cases.get(LOAD, ())):
        return Mark.NOT_MEASURED
    return Mark.RIGHT if keeps_contract else Mark.NOTHING


def _figures(
    cases: Mapping[Case, Sequence[Mapping[str, Any]]], problems: Sequence[Problem]
) -> dict[Case, dict[str, Spread]]:
    """The spreads of cases that never failed: those of the runs that ended would flatter."""
    failed = {problem.case for problem in problems if problem.outcome == "failed"}
    if SETTLE in failed:
        failed.add(TOTAL)
    figures = {}
    for case, results in cases.items():
        measured = [result["figures"] for result in results if result["outcome"] == "measured"]
        if measured and not failed & {case, Case(case.workload)}:
            names = dict.fromkeys(name for each in measured for name in each)
            values = {name: [each[name] for each in measured if name in each] for name in names}
            told = {name: [v for v in each if v is not None] for name, each in values.items()}
            figures[case] = {name: Spread.of(each) for name, each in told.items() if each}
    return figures


def _phases(loads: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, float], ...]:
    """Of the load with the middle wall time."""
    told = [
        load["figures"]
        for load in loads
        if all(load["figures"].get(f"{each}_seconds") is not None for each in ("wall", *PHASES))
    ]
    if not told:
        return ()
    middle = statistics.median_low(figures["wall_seconds"] for figures in told)
    figures = next(figures for figures in told if figures["wall_seconds"] == middle)
    return tuple((phase, figures[f"{phase}_seconds"]) for phase in PHASES)


def _load_average(documents: Sequence[Document]) -> Spread | None:
    greatest = [max(each) for each in map(load_averages, documents) if each]
    return Spread.of(greatest) if greatest else None


def _is_busy(document: Document) -> bool:
    cores = cores_of(document["machine"])
    return cores is not None and max(load_averages(document), default=0.0) > cores
