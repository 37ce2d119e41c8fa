"""Results → report: which runs are compared, and which of their figures count."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from cdb.bench.results import WEEK, is_comparison, is_of_engines, is_run
from cdb.report.cards import (
    cores_of,
    facts_of,
    limits_of,
    load_averages,
    machine_cards,
    matrix_cards,
    matrix_key,
)
from cdb.report.derived import WRITTEN_FIGURES, FloorLoads, floor_loads, with_derived
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
    Kind,
    Mark,
    Problem,
    Report,
    Row,
    Setting,
    Spread,
)
from cdb.schemas.registry import BY_ENGINE

T = TypeVar("T")
_DURABILITIES = ("power", "process", "none")
_MARKS = tuple(Mark)
_NAMES = {module: name for name, module in BY_ENGINE.items()}
_Cases = Mapping[Case, Sequence[Mapping[str, Any]]]


def build(documents: Iterable[Document], own: Collection[str] = ()) -> Report:
    """The report of these results. Of each schema in each group the newest matrix counts.

    own: machines that come first; all others were measured elsewhere, where it names any.
    """
    raw = tuple(documents)
    of_schemas = [document for document in raw if is_run(document)]
    runs: dict[Setting, dict[str, list[Document]]] = defaultdict(lambda: defaultdict(list))
    for document in of_schemas:
        runs[_setting(document)][name_of(document["schema"]["name"])].append(document)
    newest = {
        setting: [_newest(documents) for documents in schemas.values()]
        for setting, schemas in runs.items()
    }
    groups = [
        _group(setting, schemas, floor_loads(runs[setting][FLOOR]))
        for setting, schemas in newest.items()
    ]
    counted = {matrix_key(each[0]) for schemas in newest.values() for each in schemas}
    names = {document["machine"]["name"] for document in raw}

    def own_first(parts: Iterable[T], machine: Callable[[T], str]) -> tuple[T, ...]:
        return tuple(sorted(parts, key=lambda each: machine(each) not in own))

    def groups_in_order(groups: Iterable[Group]) -> tuple[Group, ...]:
        return own_first(sorted(groups, key=_group_order), lambda group: group.setting.machine)

    nodes = _of_rounds([each for each in raw if is_comparison(each)], "store")
    return Report(
        machines=own_first(machine_cards(raw), lambda card: card.name),
        groups=groups_in_order(groups),
        matrices=own_first(matrix_cards(of_schemas, counted), lambda matrix: matrix.machine),
        node=groups_in_order(each for each in nodes if each.setting.kind is Kind.NODE),
        weeks=groups_in_order(each for each in nodes if each.setting.kind is Kind.WEEK),
        layouts=groups_in_order(
            _of_rounds([each for each in raw if is_of_engines(each)], "layout", "engine")
        ),
        elsewhere=frozenset(names.difference(own) if own else ()),
        raw=raw,
    )


def name_of(schema: str) -> str:
    """The one name of a schema: that of its layout and engine, where its module has another."""
    module, comma, options = schema.partition(",")
    return f"{_NAMES.get(module, module)}{comma}{options}"


def _setting(document: Document) -> Setting:
    profile, shape = document["profile"], dict(document.get("shape", {}))
    replay = document.get("replay", document.get("chain", {}))
    detail = shape.pop("name", replay.get("synchronous", ""))
    kind = Kind.SCHEMAS if is_run(document) else Kind.WEEK if WEEK in document else Kind.NODE
    if shape:
        kind = Kind.LAYOUTS
        shape["cache_bytes"] = document["cache_bytes"]
    return Setting(
        machine=document["machine"]["name"],
        profile=profile["name"],
        limits=limits_of([profile]),
        coins=replay.get("coins", 0),
        source=replay.get("source", ""),
        digest=replay.get("digest", ""),
        durability=document.get("durability", ""),
        flush_coins=document.get("flush_coins", 0),
        kind=kind,
        detail=detail,
        asked=tuple(sorted(document.get(WEEK, shape).items())),
    )


def _of_rounds(documents: Iterable[Document], *names: str) -> list[Group]:
    """Groups of documents with rounds: of each setting the newest of each row; names say whose."""
    newest: dict[Setting, dict[str, Document]] = defaultdict(dict)
    for document in sorted(documents, key=lambda each: str(each["begun"])):
        for each in document["rounds"]:
            newest[_setting(document)][_joined(each, names)] = document
    return [_group_of_rounds(setting, rows, names) for setting, rows in newest.items()]


def _joined(of: Mapping[str, Any], names: Sequence[str]) -> str:
    return "@".join(str(of[name]) for name in names)


def _group_of_rounds(
    setting: Setting, newest: Mapping[str, Document], names: Sequence[str]
) -> Group:
    documents = list({id(document): document for document in newest.values()}.values())
    rows = [
        _row(
            schema,
            "",
            [each for each in document["rounds"] if _joined(each, names) == schema],
            document,
        )
        for schema, document in newest.items()
    ]
    if setting.kind is Kind.LAYOUTS:
        rows.sort(key=lambda row: row.schema.partition("@")[::-1])
        rows.sort(key=lambda row: not row.schema.endswith("@rocksdb"))
    return Group(
        setting=setting,
        rows=tuple(rows),
        floor=None,
        written_figure=WRITTEN_FIGURES[-1],
        begun=tuple(str(document["begun"]) for document in documents),
        commands=tuple(dict.fromkeys(str(document["command"]) for document in documents)),
        software=facts_of([document["software"] for document in documents]),
    )


def _group_order(group: Group) -> tuple[Any, ...]:
    setting = group.setting
    durability = (*_DURABILITIES, "").index(setting.durability)
    is_limited = bool(setting.limits)
    size = (-setting.coins, durability, -setting.flush_coins)
    others = (setting.digest, setting.source, setting.detail, setting.asked)
    return (setting.machine, is_limited, setting.profile, *size, *others)


def _newest(documents: Sequence[Document]) -> list[Document]:
    newest = max(document["matrix"]["id"] for document in documents)
    runs = [document for document in documents if document["matrix"]["id"] == newest]
    return sorted(runs, key=lambda document: int(document["run"]))


def _group(setting: Setting, schemas: Sequence[Sequence[Document]], floors: FloorLoads) -> Group:
    written_figure = _written_figure(schemas)
    rows = [_row_of_runs(documents, written_figure, floors) for documents in schemas]
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


def _row_of_runs(documents: Sequence[Document], written_figure: str, floors: FloorLoads) -> Row:
    first = documents[0]
    name = name_of(first["schema"]["name"])
    timed = [
        {**document, "cases": list(with_derived(document, written_figure, floors))}
        for document in documents
    ]
    description = FLOOR_DESCRIPTION if name == FLOOR else first["schema"]["description"]
    keeps_contract = first["schema"]["keeps_contract"]
    return _row(name, description, timed, first, _missing(documents), keeps_contract=keeps_contract)


def _row(
    schema: str,
    description: str,
    timed: Sequence[Mapping[str, Any]],
    first: Document,
    missing: Sequence[Problem] = (),
    *,
    keeps_contract: bool = True,
) -> Row:
    """Of runs or rounds, each with cases and load averages. first: what says whose they are."""
    cases: dict[Case, list[Mapping[str, Any]]] = defaultdict(list)
    for each in timed:
        for case in each["cases"]:
            cases[Case.of(case["workload"], case["parameters"])].append(case)
    problems = [*_problems(cases), *missing]
    is_run_of_schema = is_run(first)
    mark = _mark(cases, problems, keeps_contract=keeps_contract, has_load=is_run_of_schema)
    figures = {} if mark is Mark.WRONG else _figures(cases, problems)
    loads = cases[LOAD] if is_run_of_schema and LOAD in figures else []
    averages = [load_averages(each) for each in timed]
    greatest = [max(each) for each in averages if each]
    cores = cores_of(first["machine"])
    return Row(
        schema=schema,
        description=description,
        keeps_contract=keeps_contract,
        mark=mark,
        runs=len(timed),
        matrix=first["matrix"]["id"] if is_run_of_schema else first["begun"],
        figures=figures,
        problems=tuple(problems),
        phases=_phases(loads),
        curves=tuple(tuple((coins, at) for coins, at in each["samples"]) for each in loads),
        load_average=Spread.of(greatest) if greatest else None,
        busy=cores is not None and max(greatest, default=0.0) > cores,
    )


def _problems(cases: _Cases) -> list[Problem]:
    counts: dict[tuple[Case, str, str], int] = defaultdict(int)
    for case, results in cases.items():
        for result in results:
            if not _is_measured(result):
                reason = result["reason"] or "no reason was given"
                counts[case, result["outcome"], reason] += 1
    return [Problem(*key, runs) for key, runs in counts.items()]


def _missing(documents: Sequence[Document]) -> list[Problem]:
    runs = max(document["matrix"]["runs"] for document in documents) - len(documents)
    return [Problem(LOAD, "missing", "left no result", runs)] if runs > 0 else []


def _is_measured(case: Mapping[str, Any]) -> bool:
    """A case of a node's coin stores has no outcome: it was measured, or there is no result."""
    return bool(case.get("outcome", "measured") == "measured")


def _mark(
    cases: _Cases, problems: Sequence[Problem], *, keeps_contract: bool, has_load: bool
) -> Mark:
    """has_load: whether all depends on the load, as it does in a run of a schema."""
    told = {LOAD: cases.get(LOAD, ())} if has_load else cases
    outcomes = {problem.outcome for problem in problems if problem.case in told}
    if any(problem.outcome == "wrong" for problem in problems):
        return Mark.WRONG
    if "failed" in outcomes:
        return Mark.FAILED
    measured = any(_is_measured(result) for results in told.values() for result in results)
    if not measured:
        return Mark.NOT_MEASURED
    return Mark.RIGHT if keeps_contract else Mark.NOTHING


def _figures(cases: _Cases, problems: Sequence[Problem]) -> dict[Case, dict[str, Spread]]:
    """The spreads of cases that never failed: those of the runs that ended would flatter."""
    failed = {problem.case for problem in problems if problem.outcome == "failed"}
    if SETTLE in failed:
        failed.add(TOTAL)
    figures = {}
    for case, results in cases.items():
        measured = [result["figures"] for result in results if _is_measured(result)]
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
