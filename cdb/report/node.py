"""A node's coin stores beside each other, call by call or through a week: tables and words."""

from collections.abc import Iterator, Sequence

from cdb.bench.results import STORES, Kind
from cdb.report import units
from cdb.report.model import Case, Group
from cdb.report.parts import NONE, Cell, Line, Table
from cdb.report.tables import runs_text
from cdb.report.uses import is_near

THEIRS, OURS = STORES
_CPU, _WALL = "cpu_microseconds", "wall_microseconds"
_TIMES = (("CPU", _CPU), ("wall", _WALL))
_CACHES = {"warm": 0, "cold": 1}
_PART = (
    ("wall", "wall_seconds"),
    ("written", "disk_written_bytes"),
    ("longest stall", "late_max_microseconds"),
)
_CALL = (
    ("p50", "call_p50_microseconds"),
    ("p99", "call_p99_microseconds"),
    ("max", "call_max_microseconds"),
)
_Line = tuple[str, Case, tuple[str, ...]]
"""A label, and figures of a case."""


def conditions(group: Group) -> str:
    """What it is of: ``FAST, 1,000,000 coins``, or ``SLOW, a week of 900 blocks``."""
    setting = group.setting
    asked = dict(setting.asked)
    of = f"a week of {asked['blocks']:,} blocks" if asked else f"{setting.coins:,} coins"
    return f"{setting.profile}, {of}"


def how(group: Group) -> str:
    """What it was measured with."""
    setting, software = group.setting, dict(group.software)
    chia = software.get("chia version", units.NOT_TOLD)
    how = (
        f"Begun {group.begun[0]}, {runs_text(group)}, with chia-blockchain {chia} and SQLite's "
        f"synchronous = "
        f"{setting.synchronous}. The chain is {setting.source}."
    )
    if setting.kind is not Kind.WEEK:
        return how
    asked = dict(setting.asked)
    return (
        f"{how} {asked['blocks']:,} blocks were to be synced; chia's store had "
        f"{units.duration(asked['part_seconds'])} for each part, and cdb's did as many as that."
    )


def node_tables(group: Group) -> Iterator[Table]:
    """Calls, warm and then cold, and what else was measured; or a week's parts."""
    yield from (_week_tables if group.setting.kind is Kind.WEEK else _call_tables)(group)


def finding(group: Group) -> tuple[str, str]:
    """What both stores take for the least of blocks, files in memory, or for a week's sync; in a
    sentence, and in a few words. Empty where that was not measured."""
    wanted = (
        *(("new_block", _CPU, "CPU"), ("sync", "cpu_seconds", "CPU")),
        ("sync", "wall_seconds", "time"),
    )
    doubt = " ⚠ busy" if any(row.busy for row in group.rows) else ""
    for workload, name, what in wanted:
        cases = [
            case
            for case in group.cases()
            if case.workload == workload and case.parameter("cache") in ("warm", None)
        ]
        for case in sorted(cases, key=lambda each: each.parameters):
            theirs, ours = (group.figure(store, case, name) for store in STORES)
            if theirs and ours and ours.median > 0:
                times = units.times(theirs.median / ours.median).removeprefix("×")
                sentence = (
                    f"For {_what(case)} chia's own store takes {theirs.median_text(name)} of "
                    f"{what}, {times} × as much as cdb's {ours.median_text(name)} "
                    f"({conditions(group)}{doubt}).{_slower(group)}"
                )
                return sentence, f"chia's store takes {times} × the {what}{doubt}"
    return "", ""


def _slower(group: Group) -> str:
    """What takes cdb's store longer, by calls or parts of a week, or nothing."""
    told = [
        f"{case} ({ours.median_text(name)} to {theirs.median_text(name)})"
        for case in group.cases()
        for name in (_WALL, "wall_seconds", "call_p50_microseconds")
        if (theirs := group.figure(THEIRS, case, name))
        and (ours := group.figure(OURS, case, name))
        and ours.median > theirs.median
        and not is_near(theirs, ours, name)
    ]
    return f" By the clock cdb's takes longer for {'; '.join(told)}." if told else ""


def _what(case: Case) -> str:
    kind, number = ("block", "coins") if case.workload == "new_block" else ("sync", "blocks")
    return f"a {kind} of {case.parameter(number):,} {number}"


def _call_tables(group: Group) -> Iterator[Table]:
    cases = group.cases()
    names: tuple[str, ...] = (_CPU, _WALL)
    caches = {str(cache) for case in cases if (cache := case.parameter("cache")) is not None}
    for cache in sorted(caches, key=lambda each: (_CACHES.get(each, len(_CACHES)), each)):
        called = [case for case in cases if str(case.parameter("cache")) == cache]
        lines = [(_without(case, "cache"), case, names) for case in called]
        yield _side_by_side(group, f"A call, {cache}", "call", _TIMES, lines)
    others = [case for case in cases if case.parameter("cache") is None]
    if others:
        lines = [
            (f"{case}, {units.label(name)}", case, (name,))
            for case in others
            for name in _names(group, case)
        ]
        yield _figure_by_figure(group, "Load, size, and how late the event loop is", lines)


def _week_tables(group: Group) -> Iterator[Table]:
    """Its parts at a glance, what wallets asked, and then all figures."""
    cases = group.cases()
    parts = [case for case in cases if case.parameter("blocks") is not None]
    asked = [case for case in cases if _CALL[0][1] in _names(group, case)]
    for caption, what, figures, of in (
        ("Parts of the week", "part", _PART, parts),
        ("What wallets ask, while blocks arrive", "call", _CALL, asked),
    ):
        names = tuple(name for _, name in figures)
        lines = [(str(case), case, names) for case in of]
        yield _side_by_side(group, caption, what, figures, lines)
    for case in cases:
        if case not in asked:
            each = [(units.label(name), case, (name,)) for name in _names(group, case)]
            yield _figure_by_figure(group, f"All of it: {case}", each)


def _without(case: Case, name: str) -> str:
    return str(Case.of(case.workload, {k: v for k, v in case.parameters if k != name}))


def _side_by_side(
    group: Group,
    caption: str,
    what: str,
    figures: Sequence[tuple[str, str]],
    lines: Sequence[_Line],
) -> Table:
    """A table whose lines have these figures of both stores: of each its label, and its name."""
    header = [f"{store}: {label}" for store in STORES for label, _ in figures]
    header += [f"{label}: {THEIRS} / {OURS}" for label, _ in figures]
    return Table(caption, (what, *header), tuple(_line(group, each) for each in lines))


def _figure_by_figure(group: Group, caption: str, lines: Sequence[_Line]) -> Table:
    """A table with a figure a line."""
    header = ("what", THEIRS, OURS, f"{THEIRS} / {OURS}")
    return Table(caption, header, tuple(_line(group, each) for each in lines))


def _line(group: Group, line: _Line) -> Line:
    label, case, names = line
    cells = [_cell(group, store, case, name) for store in STORES for name in names]
    return Line((Cell(label), *cells, *(Cell(_ratio(group, case, name)) for name in names)))


def _cell(group: Group, store: str, case: Case, name: str) -> Cell:
    spread = group.figure(store, case, name)
    if spread is None:
        return Cell(NONE)
    text = spread.text(name) if spread.min != spread.max else ""
    return Cell(spread.median_text(name), spread.median, range=text)


def _ratio(group: Group, case: Case, name: str) -> str:
    """How many times as much chia's store takes, by the medians."""
    theirs, ours = (group.figure(store, case, name) for store in STORES)
    if theirs is None or ours is None or ours.median <= 0:
        return NONE
    return units.times(theirs.median / ours.median)


def _names(group: Group, case: Case) -> list[str]:
    """The figures of a case that either store has."""
    return list(dict.fromkeys(name for row in group.rows for name in row.figures.get(case, ())))
