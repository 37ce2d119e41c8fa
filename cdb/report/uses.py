"""Which schema for which use: chosen by figures alone, and told with what they are.

A use has figures, in the order in which they decide. The first that two candidates have chooses the
schema, which is the best in it, and the runner-up, which is the next.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cdb.engines import ENGINES
from cdb.lab.profile import DISK_LIMITS
from cdb.report import units
from cdb.report.growth import alike, peaks, short
from cdb.report.model import (
    FLOOR,
    LOAD,
    REFERENCE_MODEL,
    Case,
    Group,
    Report,
    Row,
    Setting,
    Spread,
    is_more_better,
)
from cdb.report.parts import NONE, Answer, Tile
from cdb.report.published import SECONDS
from cdb.report.tables import Column, cell
from cdb.schemas.registry import BY_ENGINE, layout_names

BASELINE = "blockchain_v2"
"""What the full node has: figures are told against it, where it is among the contestants."""
_USUAL_LOOKUPS: Mapping[str, str | int] = {
    "names": "existing",
    "batch": 1000,
    "threads": 1,
    "cache": "warm",
    "state": "settled",
}
"""Which of the many cases of lookups is shown, where only one is."""
NEAR = 1.1
"""Two medians that are nearer than this are not told apart, however many runs they have."""
MOST_SHOWN = 6
"""Schemas, and lines of a chart, before a reader asks for all."""
TAKE_IT = {
    "coin_log": "to follow the tip and look coins up by name: loads fastest, and is smallest",
    **{f"interval@{name}": engine.good_for for name, engine in ENGINES.items() if engine.good_for},
    "rocks": "to query coins by SQL: loads fastest of those that can where the disk is fast",
    "sqlite_v3": "to query coins by SQL, with nothing but Python and its SQLite",
    "flat_file": "to query coins by SQL, in plain Python; loads faster than sqlite_v3",
    "blockchain_v2": "to read a full node's own database",
}
"""What a schema is for, in words; of any other one there is its description."""
_LATER = {REFERENCE_MODEL, "sqlite_row", "offset_log"} | {
    f"interval@{name}" for name, engine in ENGINES.items() if not engine.good_for
}
"""A model for tests, flat_file's twin, what is here since others published it, and engines that do
not say when to take them: no choice that a reader begins with."""
DURABILITIES = ("power", "process", "none")
DURABILITY_WORDS = {
    "power": "survives power loss",
    "process": "survives the end of the process",
    "none": "survives nothing",
}
_FLUSHED = {
    "power": "flushed to survive power loss",
    "process": "flushed to survive the end of the process",
    "none": "flushed without a promise",
}


def conditions(setting: Setting) -> str:
    """What a group shares: ``SLOW, 1,000,000 coins, flushed to survive power loss each 50,000``."""
    flushed = f"{_FLUSHED[setting.durability]} each {setting.flush_coins:,}"
    return f"{setting.profile}, {setting.coins:,} coins, {flushed}"


def weight(group: Group) -> tuple[bool, bool, int, int, int]:
    """How much a group tells: with an answer more than without; of a machine as it is more than
    with limits; then its contestants, its durability, and its coins."""
    right = sum(row.competes for row in group.rows)
    return (
        any(is_choice(row) for row in group.rows),
        not group.setting.limits,
        right,
        -DURABILITIES.index(group.setting.durability),
        group.setting.coins,
    )


class Want(NamedTuple):
    """A figure that a use asks for. says: what a schema does, around the figure's text."""

    label: str
    says: str
    cases: tuple[Case, ...]
    figure: str


@dataclass(frozen=True, slots=True)
class Use:
    """What one wants to do. wants: figures, the deciding one first; price: what they cost.

    fits: who can do it at all; who: those in words, where not everyone can. slow: whether it is
    decided on the slowest profile of the machine.
    """

    id: str
    title: str
    wants: tuple[Want, ...]
    price: tuple[Want, ...]
    fits: Callable[[Row], bool]
    nobody: str
    slow: bool = False
    who: str = ""


def in_both_forms(workload: str, **parameters: str | int) -> tuple[Case, ...]:
    """Its cases as objects and packed: those that a schema without packed answers has, too."""
    return tuple(Case.of(workload, {**parameters, "form": form}) for form in ("objects", "packed"))


def lookups(**others: str | int) -> tuple[Case, ...]:
    """The usual look-ups, warm, but for these parameters."""
    asked: dict[str, str | int] = {**_USUAL_LOOKUPS, **others}
    return in_both_forms("read_random", **asked)


LOOKUPS, COLD_LOOKUPS, ABSENT_LOOKUPS = lookups(), lookups(cache="cold"), lookups(names="absent")
HISTORY = in_both_forms(
    *("historical",), names="existing", batch=1000, state="settled", height="random", cache="warm"
)
COMMIT = (Case.of("append", {"commit_coins": 45}),)
LOAD_TIME = Want("load", "loads {coins} coins in {figure}", (LOAD,), "wall_seconds")
FIND = Want("look-ups", "looks coins up by name at {figure}", LOOKUPS, "names_per_second")
FIND_COLD = Want(
    "look-ups, files not in memory",
    "looks coins up at {figure} when its files are not in memory",
    COLD_LOOKUPS,
    "names_per_second",
)
AS_OF = Want(
    "look-ups as of a height",
    "looks coins up as of any height at {figure}",
    HISTORY,
    "names_per_second",
)
_COMMIT = Want(
    "commit of a block",
    "commits a block of 45 coins durably in {figure}",
    COMMIT,
    "commit_p50_microseconds",
)
MEMORY = Want("price in memory", "takes {figure} of memory", (LOAD,), "peak_rss_bytes")
SIZE = Want(
    "price in disk per coin", "takes {figure} of disk per coin", (LOAD,), "size_bytes_per_coin"
)


def _anyone(row: Row) -> bool:
    return row.keeps_contract


def _has_sql(row: Row) -> bool:
    """A layout in SQLite keeps keys and values there, which no query of coins reads."""
    has_tables = re.search(r"(?<!without )sqlite", row.description, re.IGNORECASE) is not None
    return has_tables and "@" not in row.schema


def has_history(row: Row) -> bool:
    """Whether it was asked for coins as of a height, and answered."""
    return any(case in row.figures for case in HISTORY)


USES = (
    Use(
        *("tip", "follow the tip as a node", (_COMMIT, LOAD_TIME, FIND), (MEMORY, SIZE)),
        *(_anyone, "no schema to choose from has a figure of it here"),
    ),
    Use(
        *("lookup", "load and look up", (FIND, LOAD_TIME, FIND_COLD), (MEMORY, SIZE)),
        *(_anyone, "no schema to choose from has a figure of it here"),
    ),
    Use(
        *("sql", "query by SQL", (LOAD_TIME, FIND, _COMMIT), (MEMORY, SIZE)),
        *(_has_sql, "no schema with SQL, to choose from, has a figure of it here"),
        who="schemas with SQL",
    ),
    Use(
        *("height", "look up as of any height", (AS_OF, FIND, LOAD_TIME), (MEMORY, SIZE)),
        *(has_history, "no schema to choose from has a figure as of a height here, after settling"),
        who="schemas with look-ups as of a height",
    ),
    Use(
        *("small", "use a slow disk", (LOAD_TIME, FIND_COLD, FIND), (MEMORY, SIZE)),
        *(_anyone, "no schema to choose from has a figure of a slow disk on this machine"),
        slow=True,
    ),
)


def is_listed(row: Row) -> bool:
    """Whether a reader meets it first: layouts, options and most engines are left to their
    sections."""
    return row.schema not in {*layout_names(), *_LATER} and "," not in row.schema


def is_choice(row: Row) -> bool:
    """Whether it can be an answer."""
    return row.competes and is_listed(row)


def case_of(group: Group, cases: Sequence[Case]) -> Case:
    """Of a figure's cases, which differ in the form of answers, the one that the most rows have."""
    return max(cases, key=lambda case: sum(case in row.figures for row in group.rows))


def find(group: Group, row: Row | None, want: Want) -> Spread | None:
    """What a row has of what is wanted."""
    return None if row is None else row.figure(case_of(group, want.cases), want.figure)


def unmeasured(
    report: Report, group: Group, want: Want, fits: Callable[[Row], bool] = _anyone
) -> str:
    """Who could be ranked by a figure, as it was measured on this machine, and has none in this
    group: ``not measured here: coin_log``; empty where there is nobody."""
    machine = group.setting.machine
    groups = [each for each in report.groups if each.setting.machine == machine]
    rows = [row for each in groups for row in each.rows if is_choice(row) and fits(row)]
    column = Column("", case_of(group, want.cases), want.figure)
    told = []
    for schema in dict.fromkeys(row.schema for row in rows):
        row = group.row(schema)
        if row is None or column.spread(row) is None:
            why = NONE if row is None else cell(group, row, column).text
            told.append(schema if why in (NONE, "not measured") else f"{schema} ({why})")
    return f"not measured here: {', '.join(told)}" if told else ""


def ratio(one: Spread, other: Spread, figure: str) -> float:
    """How many times better the one is than the other."""
    better, worse = (one, other) if is_more_better(figure) else (other, one)
    if not worse.median:
        return float("inf") if better.median else 1.0
    return better.median / worse.median


def times(factor: float) -> str:
    """``78 ×``, ``1.6 ×`` or ``0.28 ×``."""
    if factor < 1:
        return f"{factor:.2g} ×"
    return f"{units.times(factor).removeprefix('×')} ×"


_DISK_LIMITS = {units.label(each) for each in DISK_LIMITS}


def has_slow_disk(setting: Setting) -> bool:
    """Whether its profile limits the disk."""
    return any(label in _DISK_LIMITS for label, _ in setting.limits)


def slowest(report: Report, group: Group) -> Group | None:
    """On this machine the group of the profile with a limited disk that loads slowest; nearest in
    size."""
    limited = [
        other
        for other in report.groups
        if has_slow_disk(other.setting)
        and other.setting.machine == group.setting.machine
        and other.setting.durability == group.setting.durability
    ]

    def order(other: Group) -> tuple[int, float]:
        best = other.best(LOAD, "wall_seconds") or 0.0
        return -abs(other.setting.coins - group.setting.coins), best / other.setting.coins

    return max(limited, key=order, default=None)


def deciding(report: Report, group: Group, use: Use) -> Group | None:
    """By whose figures a use is decided where one looks at a group; None: by nobody's."""
    return slowest(report, group) if use.slow else group


def answer(report: Report, group: Group, use: Use) -> Answer:
    """What to take for a use, by the figures of a group."""
    measured = deciding(report, group, use)
    ranked, want, skipped = _ranked(measured, use) if measured else ([], None, [])
    if want is None or measured is None:
        return Answer(use.title, "", "", f"Not known: {use.nobody}.", "", ())
    group = measured
    missing = unmeasured(report, group, want, use.fits)
    skipped += [f"({missing[0].upper()}{missing[1:]}.)"] if missing else []
    sentence = " ".join([_sentence(group, ranked, want), *skipped, *_where(group, use)])
    runner_up = ranked[1].row.schema if len(ranked) > 1 else ""
    best = ranked[0].row
    tiles = tuple(_tiles(report, group, best, use))
    return Answer(use.title, best.schema, runner_up, sentence, _next(ranked, want), tiles)


class Candidate(NamedTuple):
    """A schema, and what it has of the figure that decides."""

    row: Row
    spread: Spread


def ranked_by(group: Group, rows: Sequence[Row], want: Want) -> list[Candidate]:
    """Those of these rows that have a figure, from the best on."""
    spreads = [(row, find(group, row, want)) for row in rows]
    told = [Candidate(row, spread) for row, spread in spreads if spread is not None]
    return sorted(told, key=lambda each: each.spread.median, reverse=is_more_better(want.figure))


def _ranked(group: Group, use: Use) -> tuple[list[Candidate], Want | None, list[str]]:
    """Candidates from the best on by the figure that decides, it, and what was not measured."""
    rows = [row for row in group.rows if is_choice(row) and use.fits(row)]
    for least in (2, 1):
        skipped: list[str] = []
        for want in use.wants:
            if len(told := ranked_by(group, rows, want)) >= least:
                return told, want, skipped
            skipped.append(f"(Not measured of enough schemas here: {want.label}.)")
    return [], None, []


def _where(group: Group, use: Use) -> Iterator[str]:
    if use.slow:
        limits = ", ".join(f"{label} {text}" for label, text in group.setting.limits)
        yield f"This is on {group.setting.profile}: {limits}."


def _sentence(group: Group, ranked: Sequence[Candidate], want: Want) -> str:
    """What the best does, and how much better than the node's own and than the next."""
    best, *others = ranked
    figure = best.spread.median_text(want.figure)
    said = want.says.format(coins=f"{group.setting.coins:,}", figure=figure)
    told = f"{best.row.schema} {said}"
    if others and is_near(best.spread, others[0].spread, want.figure):
        return f"{told}, and {_within(others[0], best, want)}."
    own = [each for each in others if each.row.schema == BASELINE][:1]
    rivals = [each for each in others if each.row.schema != BASELINE][:1]
    against = [
        f"{times(ratio(best.spread, other.spread, want.figure))} as fast as {name}"
        for other, name in (
            *((each, f"the node's own {BASELINE}") for each in own),
            *((each, each.row.schema) for each in rivals),
        )
    ]
    return f"{told}: {', '.join(against)}." if against else f"{told}."


def is_near(best: Spread, other: Spread, figure: str) -> bool:
    """Whether one that is no worse can't be told apart from another by this figure."""
    have_ranges = min(best.runs, other.runs) > 1
    return (have_ranges and best.overlaps(other)) or ratio(best, other, figure) < NEAR


def _within(one: Candidate, other: Candidate, want: Want) -> str:
    """How near the one is to the other, which its sentence named last."""
    is_within = ratio(other.spread, one.spread, want.figure) < NEAR
    what = "10 % of it" if is_within else "the range of its runs"
    return f"{one.row.schema} ({one.spread.median_text(want.figure)}) is within {what}"


def _next(ranked: Sequence[Candidate], want: Want) -> str:
    """Who comes next, and whether the one after that may be as good."""
    if len(ranked) < 2:
        return "No runner-up: no other schema to choose from has a figure of it here."
    _, second, *rest = ranked
    name = second.row.schema
    told = f"Runner-up: {name} ({second.spread.median_text(want.figure)})"
    if rest and is_near(second.spread, rest[0].spread, want.figure):
        told += f"; {_within(rest[0], second, want)}"
    reason = TAKE_IT.get(name, "")
    return f"{told}.{f' Take {name} {reason}.' if reason else ''}"


def _tiles(report: Report, group: Group, best: Row, use: Use) -> Iterator[Tile]:
    """Figures, then prices, each against the node's own schema."""
    own = group.row(BASELINE)
    sections = {MEMORY.label: "cost", SIZE.label: "cost", "load": "cost", _COMMIT.label: "node"}
    for want in (*use.wants, *use.price):
        is_price = want in use.price
        spread, other = find(group, best, want), find(group, own, want)
        section = sections.get(want.label, "find")
        if spread is None:
            yield Tile(want.label, "not measured", "", section)
            continue
        text = f"{spread.median_text(want.figure)} {group.dagger(spread)}".strip()
        told = ""
        if want is MEMORY:
            told = _of_memory(report, group, best, own)
        elif other is not None and own is not None and own.competes and own is not best:
            told = against(ratio(spread, other, want.figure), is_price=is_price)
        yield Tile(want.label, text, told, section)


def _of_memory(report: Report, group: Group, best: Row, own: Row | None) -> str:
    """That it is a load's peak, and what it is in the size that is farthest from this one: memory
    that is alike in a small load need not be so in a large one."""
    sizes, here = alike(report.groups, group), group.setting.coins
    mine = peaks(sizes, best.schema)
    there = max(mine, key=lambda coins: abs(coins - here))
    told = f"peak of a load of {short(here)} coins, mapped files counted"
    if mine[here] != best.figure(LOAD, MEMORY.figure):
        told += f"; in a newer run {mine[here].median_text(MEMORY.figure)}"
    if there != here:
        told += f"; {mine[there].median_text(MEMORY.figure)} at {short(there)}"
    theirs = peaks(sizes, BASELINE) if own is not None and own is not best else {}
    sides = [theirs[coins] for coins in dict.fromkeys((here, there)) if coins in theirs]
    if here in theirs:
        told += f"; {BASELINE}: {', '.join(each.median_text(MEMORY.figure) for each in sides)}"
    return told


def against(factor: float, *, is_price: bool) -> str:
    """What it is as a multiple of the node's own. factor: how many times better."""
    what = f"as {'much' if is_price else 'fast'} as {BASELINE}"
    if 1 / NEAR < factor < NEAR:
        return f"about {what}"
    return f"{times(1 / factor if is_price else factor)} {what}"


def shown(group: Group, answers: Sequence[Answer]) -> tuple[str, ...]:
    """The schemas that pictures have at first: the answers, the best of those that were published,
    the node's own, the floor; then, while there is room, runners-up."""
    there = {row.schema for row in group.lines}
    published = min(SECONDS, key=lambda schema: SECONDS[schema]["FAST"])
    always = [each for each in (published, BASELINE, FLOOR) if each in there]
    chosen = [each.schema for each in answers if each.schema not in always]
    room = MOST_SHOWN - len(always)
    wanted = [*dict.fromkeys(chosen)][:room] + always
    runners_up = {each.runner_up for each in answers}
    wanted += [row.schema for row in group.rows if row.schema in runners_up]
    wanted += [row.schema for row in group.rows if is_choice(row)]
    wanted += [row.schema for row in group.rows]
    return tuple(dict.fromkeys(each for each in wanted if each in there))[:MOST_SHOWN]


def page_of(schema: str) -> str:
    """The module whose page in docs/schemas tells of a schema."""
    return BY_ENGINE.get(schema, schema)
