"""The answer in a sentence: what is fastest on a machine, by how much, and at what price."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cdb.engines import ENGINES
from cdb.report import units
from cdb.report.model import LOAD, REFERENCE_MODEL, Case, Group, Report, Row, Setting

BASELINE = "blockchain_v2"
"""What the full node has: speed is told against it, where it is among the contestants."""
_EXISTING = ("sqlite", *ENGINES)
"""A schema is built on an existing engine if its description names one of these."""
USUAL_LOOKUPS: Mapping[str, str | int] = {
    "names": "existing",
    "batch": 1000,
    "threads": 1,
    "state": "settled",
}
"""Which of the many cases of lookups is shown, where only one is."""
_DURABILITIES = ("power", "process", "none")
_FLUSHED = {
    "power": "flushed to survive power loss",
    "process": "flushed to survive the end of the process",
    "none": "flushed without a promise",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence on a machine with a profile, from one group."""

    group: Group
    text: str


def conditions(setting: Setting) -> str:
    """What a group shares: ``SLOW, 1,000,000 coins, flushed to survive power loss each 50,000``."""
    flushed = f"{_FLUSHED[setting.durability]} each {setting.flush_coins:,}"
    return f"{setting.profile}, {setting.coins:,} coins, {flushed}"


def answers(report: Report) -> tuple[Answer, ...]:
    """One for each machine and profile: from the group with the most contestants that were right;
    among equals the strongest durability, and then the most coins."""
    chosen: dict[tuple[str, str], Group] = {}
    for group in report.groups:
        key = (group.setting.machine, group.setting.profile)
        chosen[key] = max(chosen.get(key, group), group, key=weight)
    return tuple(Answer(group, answer(group)) for group in chosen.values())


def answer(group: Group) -> str:
    """What is fastest in a group, by how much, and who has no figure; not the reference model."""
    group = replace(group, rows=tuple(row for row in group.rows if row.schema != REFERENCE_MODEL))
    where = f"On {group.setting.machine}, {conditions(group.setting)}: "
    ranked = [row for row in group.rows if row.competes and row.figure(LOAD, "wall_seconds")]
    if not ranked:
        return f"{where}no schema has a load time that counts. {_without(group)}".strip()
    clauses = [_fastest(group, ranked), *_lookups(group), *_on_an_engine(ranked), *_smallest(group)]
    return " ".join(filter(None, [f"{where}{'; '.join(clauses)}.", _without(group)]))


def weight(group: Group) -> tuple[int, int, int]:
    """How much a group tells: its contestants, then its durability, then its coins."""
    right = sum(row.competes for row in group.rows)
    return right, -_DURABILITIES.index(group.setting.durability), group.setting.coins


def _fastest(group: Group, ranked: list[Row]) -> str:
    best = ranked[0]
    price = [_wall_text(best)]
    other = next((row for row in ranked if row.schema == BASELINE), ranked[-1])
    if other is not best and _wall(best):
        price.append(f"{_factor(_wall(other) / _wall(best))} faster than {other.schema}")
    floor = group.floor.figure(LOAD, "wall_seconds") if group.floor else None
    if floor and floor.median:
        price.append(f"{_factor(_wall(best) / floor.median)} the floor's time")
    clause = f"{best.schema} loads fastest ({', '.join(price)})"
    return clause + _doubt(group, best, LOAD, "wall_seconds")


def _lookups(group: Group) -> list[str]:
    """On the case that the most contestants have."""
    counts = {
        case: sum(row.competes and case in row.figures for row in group.rows)
        for case in group.cases()
        if case.workload == "read_random" and _is_usual(case)
    }
    case = max(counts, key=lambda each: counts[each], default=None)
    best = _best(group, case, "names_per_second") if case else None
    if case is None or best is None:
        return []
    row, figure = best
    other_case = _in_other_form(case)
    other = row.figure(other_case, "names_per_second")
    figures = f"{figure} {_form(case)}"
    if other is not None:
        figures += f", {other.median_text('names_per_second')} {_form(other_case)}"
    clause = f"{row.schema} answers most lookups from a warm cache ({figures})"
    return [clause + _doubt(group, row, case, "names_per_second")]


def _is_usual(case: Case) -> bool:
    parameters = {name: value for name, value in case.parameters if name != "form"}
    return parameters == {**USUAL_LOOKUPS, "cache": "warm"}


def _form(case: Case) -> str:
    return "packed" if case.parameter("form") == "packed" else "as objects"


def _in_other_form(case: Case) -> Case:
    form = "objects" if case.parameter("form") == "packed" else "packed"
    return Case.of(case.workload, {**dict(case.parameters), "form": form})


def _on_an_engine(ranked: list[Row]) -> list[str]:
    built = [row for row in ranked if any(each in row.description.lower() for each in _EXISTING)]
    if not built or built[0] is ranked[0]:
        return []
    return [
        f"among schemas built on an existing engine {built[0].schema} loads fastest "
        f"({_wall_text(built[0])})"
    ]


def _smallest(group: Group) -> list[str]:
    best = _best(group, LOAD, "size_bytes_per_coin")
    return [f"{best[0].schema} is smallest on disk ({best[1]} a coin)"] if best else []


def _without(group: Group) -> str:
    """Nobody vanishes."""
    rows = [row for row in group.rows if not row.competes and row.keeps_contract]
    names = ", ".join(f"{row.schema} ({row.mark})" for row in rows)
    return f"Without a figure that counts: {names}." if names else ""


def _best(group: Group, case: Case, name: str) -> tuple[Row, str] | None:
    median = group.best(case, name)
    for row in group.rows:
        spread = row.figure(case, name) if row.competes else None
        if spread and spread.median == median:
            return row, spread.median_text(name)
    return None


def _wall(row: Row) -> float:
    spread = row.figure(LOAD, "wall_seconds")
    return spread.median if spread else float("inf")


def _wall_text(row: Row) -> str:
    spread = row.figure(LOAD, "wall_seconds")
    return spread.median_text("wall_seconds") if spread else ""


def _doubt(group: Group, best: Row, case: Case, name: str) -> str:
    """Who may be as good: their ranges overlap."""
    range_of_best = best.figure(case, name)
    rivals = [
        row.schema
        for row in group.rows
        if row.competes
        and row is not best
        and (spread := row.figure(case, name))
        and range_of_best
        and spread.overlaps(range_of_best)
    ]
    return f", though not shown to be faster than {' and '.join(rivals)}" if rivals else ""


def _factor(ratio: float) -> str:
    return f"{units.times(ratio).removeprefix('×')} times"
