"""Results → report: which runs are compared, and which of their figures count."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from cdb.bench.case import ENDED
from cdb.bench.pairs import PAIRS, ROUNDS, pairs_in
from cdb.bench.results import STORES, Kind
from cdb.report import units
from cdb.report.cards import (
    facts_of,
    limits_of,
    machine_cards,
    matrix_cards,
    matrix_key,
    others_cores,
)
from cdb.report.derived import WRITTEN_FIGURES, FloorLoads, floor_loads, with_derived
from cdb.report.growth import short
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
from cdb.report.options import Judged
from cdb.schemas.registry import BY_ENGINE

T = TypeVar("T")
_DURABILITIES = ("power", "process", "none")
_MARKS = tuple(Mark)
_NAMES = {module: name for name, module in BY_ENGINE.items()}
_Cases = Mapping[Case, Sequence[Mapping[str, Any]]]


def build(documents: Iterable[Document], own: Collection[str] = ()) -> Report:
    """The report of these results. Of each contestant in each group the newest matrix counts.

    own: machines that come first; all others were measured elsewhere, where it names any.
    """
    raw = tuple(documents)
    runs: dict[Setting, dict[str, list[Document]]] = defaultdict(lambda: defaultdict(list))
    for document in raw:
        if document["kind"] == Kind.PAIRS:
            continue
        runs[_setting(document)][name_of(document["contestant"]["name"])].append(document)
    newest = {
        setting: [_newest(documents) for documents in rows.values()]
        for setting, rows in runs.items()
    }
    groups = [
        _group(setting, rows, floor_loads(runs[setting][FLOOR])) for setting, rows in newest.items()
    ]
    counted = {matrix_key(each[0]) for rows in newest.values() for each in rows}
    names = {document["machine"]["name"] for document in raw}

    def own_first(parts: Iterable[T], machine: Callable[[T], str]) -> tuple[T, ...]:
        return tuple(sorted(parts, key=lambda each: machine(each) not in own))

    def of(kind: Kind) -> tuple[Group, ...]:
        found = (group for group in groups if group.setting.kind is kind)
        return own_first(sorted(found, key=_group_order), lambda group: group.setting.machine)

    of_schemas = [each for each in raw if each["kind"] == Kind.SCHEMAS]
    return Report(
        machines=own_first(machine_cards(raw), lambda card: card.name),
        groups=of(Kind.SCHEMAS),
        matrices=own_first(matrix_cards(of_schemas, counted), lambda matrix: matrix.machine),
        node=of(Kind.NODE),
        weeks=of(Kind.WEEK),
        layouts=of(Kind.LAYOUTS),
        pairs=tuple(judged_of(raw, own)),
        elsewhere=frozenset(names.difference(own) if own else ()),
        raw=raw,
    )


def judged_of(documents: Iterable[Document], own: Collection[str]) -> Iterator[Judged]:
    """Of each pair what one matrix says: one with enough rounds before others, then one of a
    machine that comes first, then the newest."""
    matrices: dict[tuple[str, str], list[Document]] = defaultdict(list)
    for document in documents:
        if document["kind"] == Kind.PAIRS:
            matrices[matrix_key(document)].append(document)

    def order(runs: Sequence[Document]) -> tuple[bool, bool, str]:
        rounds = {each["run"] for each in runs}
        return len(rounds) >= ROUNDS, runs[0]["machine"]["name"] in own, runs[0]["begun"]

    chosen = {
        pair.other: Judged(pair, verdicts, runs[0]["machine"]["name"], runs[0]["data"]["source"])
        for runs in sorted(matrices.values(), key=order)
        for pair, verdicts in pairs_in(runs)
    }
    yield from (chosen[pair.other] for pair in PAIRS if pair.other in chosen)


def name_of(schema: str) -> str:
    """The one name of a schema: that of its layout and engine, where its module has another."""
    module, comma, options = schema.partition(",")
    return f"{_NAMES.get(module, module)}{comma}{options}"


def _setting(document: Document) -> Setting:
    profile, data, kind = document["profile"], document["data"], Kind(document["kind"])
    asked = {name: value for name, value in data.items() if name not in ("coins", "synchronous")}
    source = asked.pop("source")
    return Setting(
        machine=document["machine"]["name"],
        profile=profile["name"],
        limits=limits_of([profile]),
        coins=data.get("coins", 0),
        source=source,
        digest=data.get("digest", ""),
        durability=document.get("durability", ""),
        flush_coins=document.get("flush_coins", 0),
        kind=kind,
        synchronous=data.get("synchronous", ""),
        asked=() if kind is Kind.SCHEMAS else tuple(sorted(asked.items())),
    )


def _group_order(group: Group) -> tuple[Any, ...]:
    setting = group.setting
    durability = (*_DURABILITIES, "").index(setting.durability)
    is_limited = bool(setting.limits)
    size = (-setting.coins, durability, -setting.flush_coins)
    others = (setting.digest, setting.source, setting.synchronous, setting.asked)
    return (setting.machine, is_limited, setting.profile, *size, *others)


def _newest(documents: Sequence[Document]) -> list[Document]:
    newest = max(document["matrix"]["id"] for document in documents)
    runs = [document for document in documents if document["matrix"]["id"] == newest]
    return sorted(runs, key=lambda document: int(document["run"]))


def _group(setting: Setting, rows: Sequence[Sequence[Document]], floors: FloorLoads) -> Group:
    of_schemas = setting.kind is Kind.SCHEMAS
    figure = _written_figure(rows) if of_schemas else WRITTEN_FIGURES[-1]
    made = [_row(documents, figure, floors) for documents in rows]
    order = {Kind.SCHEMAS: _row_order, Kind.LAYOUTS: _layout_order}.get(setting.kind, _store_order)
    told = [document for documents in rows for document in documents]
    begun = {each["matrix"]["id"]: each["begun"] for each in sorted(told, key=_begun, reverse=True)}
    return Group(
        setting=setting,
        rows=tuple(sorted((row for row in made if row.schema != FLOOR), key=order)),
        floor=next((row for row in made if row.schema == FLOOR), None),
        written_figure=figure,
        begun=tuple(sorted(begun.values())),
        commands=tuple(dict.fromkeys(each["matrix"]["command"] for each in told)),
        software=facts_of([each["software"] for each in told]),
    )


def _begun(document: Document) -> str:
    return str(document["begun"])


def _store_order(row: Row) -> tuple[Any, ...]:
    return (STORES.index(row.schema),)


def _layout_order(row: Row) -> tuple[Any, ...]:
    layout, _, engine = row.schema.rpartition("@")
    return (engine != "rocksdb", engine, layout)


def _row_order(row: Row) -> tuple[Any, ...]:
    wall = row.figure(LOAD, "wall_seconds")
    seconds = float("inf") if wall is None else wall.median
    return (_MARKS.index(row.mark), seconds, row.schema)


def _written_figure(schemas: Sequence[Sequence[Document]]) -> str:
    loads = [
        case["figures"]
        for documents in schemas
        for document in documents
        if document["contestant"]["keeps_contract"]
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
    """Of a contestant's runs."""
    first = documents[0]
    contestant, of_schemas = first["contestant"], first["kind"] == Kind.SCHEMAS
    name = name_of(contestant["name"])
    keeps_contract = contestant.get("keeps_contract", True)
    cases: dict[Case, list[Mapping[str, Any]]] = defaultdict(list)
    coins = first["data"].get("coins", 0)
    for each in documents:
        for case in with_derived(each, written_figure, floors) if of_schemas else each["cases"]:
            cases[Case.of(case["workload"], case["parameters"])].append(case)
    problems = [*_problems(cases, coins), *_missing(documents)]
    mark = _mark(cases, problems, keeps_contract=keeps_contract, has_load=of_schemas)
    figures = {} if mark is Mark.WRONG else _figures(cases, problems)
    loads = cases[LOAD] if of_schemas and LOAD in figures else []
    others = [told for each in documents if (told := others_cores(each)) is not None]
    return Row(
        schema=name,
        description=FLOOR_DESCRIPTION if name == FLOOR else contestant.get("description", ""),
        keeps_contract=keeps_contract,
        mark=mark,
        runs=len(documents),
        matrix=first["matrix"]["id"],
        figures=figures,
        problems=tuple(problems),
        phases=_phases(loads),
        curves=tuple(tuple(map(tuple, told)) for each in loads if (told := each["samples"])),
        others_cores=max(others, default=0.0),
    )


def _problems(cases: _Cases, coins: int) -> list[Problem]:
    counts: dict[tuple[Case, str, str, str], int] = defaultdict(int)
    for case, results in cases.items():
        for result in results:
            if not _is_measured(result):
                reason = result["reason"] or "no reason was given"
                counts[case, result["outcome"], reason, _how_far(result, coins)] += 1
    return [
        Problem(case, outcome, reason, runs, far)
        for (case, outcome, reason, far), runs in counts.items()
    ]


def _how_far(result: Mapping[str, Any], coins: int) -> str:
    """A load that has ended came."""
    if result["outcome"] != ENDED or not result["samples"]:
        return ""
    done, seconds = result["samples"][-1]
    return f"{short(done)} of {short(coins)} in {units.duration(seconds)}"


def _missing(documents: Sequence[Document]) -> list[Problem]:
    runs = max(document["matrix"]["runs"] for document in documents) - len(documents)
    first = Case(documents[0]["cases"][0]["workload"])
    return [Problem(first, "missing", "left no result", runs)] if runs > 0 else []


def _is_measured(case: Mapping[str, Any]) -> bool:
    return bool(case["outcome"] == "measured")


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
    if ENDED in outcomes:
        return Mark.ENDED
    measured = any(_is_measured(result) for results in told.values() for result in results)
    if not measured:
        return Mark.NOT_MEASURED
    return Mark.RIGHT if keeps_contract else Mark.NOTHING


def _figures(cases: _Cases, problems: Sequence[Problem]) -> dict[Case, dict[str, Spread]]:
    """The spreads of cases that never failed: those of the runs that ended would flatter."""
    failed = {problem.case for problem in problems if problem.outcome in ("failed", ENDED)}
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
