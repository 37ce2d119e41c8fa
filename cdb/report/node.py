"""A node's coin stores beside each other: which comparisons count, and their tables."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cdb.bench.node_rounds import STORES
from cdb.report import units
from cdb.report.cards import cores_of, facts_of, limits_of, load_averages
from cdb.report.model import (
    Case,
    CaseFigures,
    Document,
    NodeComparison,
    NodeSetting,
    Spread,
)
from cdb.report.tables import NONE, Table

THEIRS, OURS = STORES
_TIMES = (("CPU", "cpu_microseconds"), ("wall", "wall_microseconds"))
_CACHES = {"warm": 0, "cold": 1}


@dataclass(frozen=True, slots=True)
class Line:
    """What both stores took for the same: figures by their names, and a spread for each."""

    label: str
    names: tuple[str, ...]
    theirs: tuple[Spread | None, ...]
    ours: tuple[Spread | None, ...]

    @property
    def told(self) -> tuple[tuple[str, Spread | None], ...]:
        """Names and spreads, chia's first."""
        return (
            *zip(self.names, self.theirs, strict=True),
            *zip(self.names, self.ours, strict=True),
        )

    @property
    def ratios(self) -> tuple[str, ...]:
        """How many times as much chia's store takes, by the medians."""
        return tuple(map(_ratio, self.theirs, self.ours))


@dataclass(frozen=True, slots=True)
class NodeTable:
    """Lines under a header, whose first cell is that of their labels."""

    caption: str
    header: tuple[str, ...]
    lines: tuple[Line, ...]

    def as_texts(self) -> Table:
        """With min / median / max of each."""
        rows = (
            (
                line.label,
                *(NONE if spread is None else spread.text(name) for name, spread in line.told),
                *line.ratios,
            )
            for line in self.lines
        )
        return Table(self.header, tuple(rows))


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
    """What a comparison is of: ``FAST, 1,000,000 coins``."""
    return f"{comparison.setting.profile}, {comparison.setting.coins:,} coins"


def how(comparison: NodeComparison) -> str:
    """What it was measured with."""
    setting, software = comparison.setting, dict(comparison.software)
    chia = software.get("chia version", units.NOT_TOLD)
    return (
        f"Begun {comparison.begun}, with chia-blockchain {chia} and SQLite's synchronous = "
        f"{setting.synchronous}. The chain is {setting.source}."
    )


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
    """Calls, warm and then cold; and what else was measured."""
    cases = list(dict.fromkeys(case for each in comparison.figures.values() for case in each))
    caches = {str(cache) for case in cases if (cache := case.parameter("cache")) is not None}
    for cache in sorted(caches, key=lambda each: (_CACHES.get(each, len(_CACHES)), each)):
        called = [case for case in cases if str(case.parameter("cache")) == cache]
        yield _calls(comparison, cache, called)
    others = [case for case in cases if case.parameter("cache") is None]
    if others:
        header = ("what", THEIRS, OURS, f"{THEIRS} / {OURS}")
        lines = (line for case in others for line in _others(comparison, case))
        yield NodeTable("Load, size, and how late the event loop is", header, tuple(lines))


def _calls(comparison: NodeComparison, cache: str, cases: Sequence[Case]) -> NodeTable:
    names = tuple(name for _, name in _TIMES)
    header = [f"{store}: {label}" for store in (THEIRS, OURS) for label, _ in _TIMES]
    header += [f"{label}: {THEIRS} / {OURS}" for label, _ in _TIMES]
    lines = (_line(comparison, case, _uncached(case), names) for case in cases)
    return NodeTable(f"A call, {cache}", ("call", *header), tuple(lines))


def _uncached(case: Case) -> str:
    parameters = {name: value for name, value in case.parameters if name != "cache"}
    return str(Case.of(case.workload, parameters))


def _others(comparison: NodeComparison, case: Case) -> Iterator[Line]:
    names = dict.fromkeys(n for each in comparison.figures.values() for n in each.get(case, ()))
    for name in names:
        yield _line(comparison, case, f"{case}, {units.label(name)}", (name,))


def _line(comparison: NodeComparison, case: Case, label: str, names: tuple[str, ...]) -> Line:
    theirs, ours = (comparison.figures.get(store, {}).get(case, {}) for store in (THEIRS, OURS))
    return Line(label, names, tuple(map(theirs.get, names)), tuple(map(ours.get, names)))


def _ratio(theirs: Spread | None, ours: Spread | None) -> str:
    if theirs is None or ours is None or ours.median <= 0:
        return NONE
    return units.times(theirs.median / ours.median)


def _setting(document: Document) -> NodeSetting:
    profile, chain = document["profile"], document["chain"]
    return NodeSetting(
        machine=document["machine"]["name"],
        profile=profile["name"],
        limits=limits_of([profile]),
        coins=chain["coins"],
        source=chain["source"],
        synchronous=chain["synchronous"],
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
        figures={store: _figures(document["rounds"], store) for store in (THEIRS, OURS)},
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
