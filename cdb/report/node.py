"""A node's coin stores beside each other: which comparisons count, and their tables."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cdb.bench.node_rounds import STORES
from cdb.bench.results import WEEK
from cdb.report import units
from cdb.report.cards import cores_of, facts_of, limits_of, load_averages
from cdb.report.model import (
    Case,
    CaseFigures,
    Document,
    NodeComparison,
    NodeSetting,
    Spread,
    WeekAsked,
)
from cdb.report.node_lines import (
    NodeTable,
    cases_of,
    figure_by_figure,
    line_of,
    names_of,
    side_by_side,
)
from cdb.report.week import limit_line, week_of, week_tables

_TIMES = (("CPU", "cpu_microseconds"), ("wall", "wall_microseconds"))
_CACHES = {"warm": 0, "cold": 1}


def comparisons(documents: Iterable[Document]) -> tuple[NodeComparison, ...]:
    """Of each setting the newest."""
    newest: dict[NodeSetting, Document] = {}
    for document in documents:
        setting = _setting(document)
        newest[setting] = max(
            newest.get(setting, document), document, key=lambda each: each["begun"]
        )
    made = (_comparison(setting, document) for setting, document in newest.items())
    return tuple(sorted(made, key=_order))


def conditions(comparison: NodeComparison) -> str:
    """What a comparison is of: ``FAST, 1,000,000 coins``, or ``SLOW, a week of 900 blocks``."""
    setting = comparison.setting
    n_coins = f"{setting.coins:,} coins"
    return f"{setting.profile}, {n_coins if setting.week is None else week_of(setting.week)}"


def how(comparison: NodeComparison) -> str:
    """What it was measured with."""
    setting, software = comparison.setting, dict(comparison.software)
    chia = software.get("chia version", units.NOT_TOLD)
    how = (
        f"Begun {comparison.begun}, with chia-blockchain {chia} and SQLite's synchronous = "
        f"{setting.synchronous}. The chain is {setting.source}."
    )
    return how if setting.week is None else f"{how} {limit_line(setting.week)}"


def busy_line(comparison: NodeComparison) -> str | None:
    """A warning, where the machine had more to do than its cores can."""
    if not comparison.busy or comparison.load_average is None:
        return None
    return (
        f"The load average was above the number of cores, up to {comparison.load_average.max:.1f}: "
        "CPU times are what counts; times by the clock, and how late the event loop was, are those "
        "of a busy machine."
    )


def node_tables(comparison: NodeComparison) -> Iterator[NodeTable]:
    """Calls, warm and then cold, and what else was measured; or a week's parts."""
    if comparison.setting.week is not None:
        yield from week_tables(comparison)
        return
    cases = cases_of(comparison)
    names = tuple(name for _, name in _TIMES)
    caches = {str(cache) for case in cases if (cache := case.parameter("cache")) is not None}
    for cache in sorted(caches, key=lambda each: (_CACHES.get(each, len(_CACHES)), each)):
        called = [case for case in cases if str(case.parameter("cache")) == cache]
        lines = [line_of(comparison, case, _uncached(case), names) for case in called]
        yield side_by_side(f"A call, {cache}", "call", _TIMES, lines)
    others = [case for case in cases if case.parameter("cache") is None]
    if others:
        lines = [
            line_of(comparison, case, f"{case}, {units.label(name)}", (name,))
            for case in others
            for name in names_of(comparison, case)
        ]
        yield figure_by_figure("Load, size, and how late the event loop is", lines)


def _uncached(case: Case) -> str:
    parameters = {name: value for name, value in case.parameters if name != "cache"}
    return str(Case.of(case.workload, parameters))


def _setting(document: Document) -> NodeSetting:
    profile, chain = document["profile"], document["chain"]
    return NodeSetting(
        machine=document["machine"]["name"],
        profile=profile["name"],
        limits=limits_of([profile]),
        coins=chain["coins"],
        source=chain["source"],
        synchronous=chain["synchronous"],
        week=WeekAsked(**document[WEEK]) if WEEK in document else None,
    )


def _order(comparison: NodeComparison) -> tuple[Any, ...]:
    setting = comparison.setting
    return (setting.machine, bool(setting.limits), setting.profile, -setting.coins, setting.source)


def _comparison(setting: NodeSetting, document: Document) -> NodeComparison:
    averages = [average for each in document["rounds"] for average in load_averages(each)]
    cores = cores_of(document["machine"])
    return NodeComparison(
        setting=setting,
        begun=document["begun"],
        runs=document["runs"],
        command=document["command"],
        software=facts_of([document["software"]]),
        figures={store: _figures(document["rounds"], store) for store in STORES},
        load_average=Spread.of(averages) if averages else None,
        busy=cores is not None and max(averages, default=0.0) > cores,
    )


def _figures(rounds: Sequence[Mapping[str, Any]], store: str) -> CaseFigures:
    values: dict[Case, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in rounds:
        for case in each["cases"] if each["store"] == store else ():
            for name, value in case["figures"].items():
                if value is not None:
                    values[Case.of(case["workload"], case["parameters"])][name].append(value)
    return {
        case: {name: Spread.of(told) for name, told in figures.items()}
        for case, figures in values.items()
    }
