"""Who measured, and how: cards of machines and their profiles, and of matrices."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from cdb.report import units
from cdb.report.model import Document, Facts, MachineCard, Matrix, ProfileCard, Spread

SHORTEST_SECONDS = 0.5
"""A run that takes less does not tell what other processes did."""


def others_cores(timed: Mapping[str, Any]) -> float | None:
    """How many cores processes other than a run's own kept busy meanwhile, where that is told.

    Older results have the load averages before and after only, in which threads of the run itself
    count: what the greater is above the number of cores stands for it. A kernel counts CPU time in
    hundredths of a second, so that of a run of a moment tells nothing.
    """
    if timed["seconds"] < SHORTEST_SECONDS:
        return None
    if "others_cores" in timed:
        told: float | None = timed["others_cores"]
        return told
    cores = timed["machine"].get("cpu_count")
    both = (timed["load_average_before"], timed["load_average_after"])
    above = [each - cores for each in both if each is not None and cores is not None]
    return max(0.0, *above) if above else None


def matrix_key(document: Document) -> tuple[str, str]:
    """What tells a run's matrix from all others."""
    return document["machine"]["name"], document["matrix"]["id"]


def facts_of(described: Sequence[Mapping[str, Any]]) -> Facts:
    """Each key with its value; where they differ, with all texts, or the range of the numbers."""
    values: dict[str, dict[Any, None]] = defaultdict(dict)
    for each in described:
        for key, value in each.items():
            values[key][value] = None
    return tuple((units.label(key), _fact(key, list(told))) for key, told in values.items())


def limits_of(profiles: Sequence[Mapping[str, Any]]) -> Facts:
    """The limits of profiles of one name; none for what the machine has by itself."""
    limits = [{k: v for k, v in each.items() if k not in ("name", "measured")} for each in profiles]
    return facts_of([{k: v for k, v in each.items() if v is not None} for each in limits])


def _fact(key: str, values: list[Any]) -> str:
    if len(values) > 1 and all(_is_number(value) for value in values):
        return f"{units.fact(key, min(values))} to {units.fact(key, max(values))}"
    return " / ".join(units.fact(key, value) for value in values)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def machine_cards(documents: Sequence[Document]) -> tuple[MachineCard, ...]:
    """A card for each machine, by name."""
    runs: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        runs[document["machine"]["name"]].append(document)
    return tuple(_machine(name, runs[name]) for name in sorted(runs))


def _machine(name: str, documents: Sequence[Document]) -> MachineCard:
    profiles: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        profiles[document["profile"]["name"]].append(document)
    facts = {name: _machine_facts(runs) for name, runs in sorted(profiles.items())}
    common = [
        fact for fact in _machine_facts(documents) if all(fact in own for own in facts.values())
    ]
    return MachineCard(
        name=name,
        facts=tuple(common),
        profiles=tuple(
            _profile(
                name,
                [document["profile"] for document in profiles[name]],
                tuple(fact for fact in own if fact not in common),
            )
            for name, own in facts.items()
        ),
    )


def _machine_facts(documents: Sequence[Document]) -> Facts:
    machines = (document["machine"] for document in documents)
    return facts_of([{k: v for k, v in each.items() if k != "name"} for each in machines])


def _profile(name: str, profiles: Sequence[Mapping[str, Any]], facts: Facts) -> ProfileCard:
    measured: dict[str, list[float]] = defaultdict(list)
    for profile in profiles:
        for key, value in profile["measured"].items():
            if value is not None:
                measured[key].append(value)
    return ProfileCard(
        name=name,
        facts=facts,
        limits=limits_of(profiles),
        measured=tuple((units.label(key), _range(key, told)) for key, told in measured.items()),
    )


def _range(key: str, values: Sequence[float]) -> str:
    """Once, where all runs were in one place, which was measured once."""
    spread = Spread.of(values)
    return spread.median_text(key) if spread.min == spread.max else spread.text(key)


def matrix_cards(
    documents: Sequence[Document], counted: set[tuple[str, str]]
) -> tuple[Matrix, ...]:
    """Every matrix, by machine and age; counted: those of which some runs count."""
    runs: dict[tuple[str, str], list[Document]] = defaultdict(list)
    for document in documents:
        runs[matrix_key(document)].append(document)
    return tuple(_matrix(runs[key], counted=key in counted) for key in sorted(runs))


def _matrix(documents: Sequence[Document], *, counted: bool) -> Matrix:
    newest = documents[-1]
    return Matrix(
        id=newest["matrix"]["id"],
        machine=newest["machine"]["name"],
        command=newest["matrix"]["command"],
        runs=newest["matrix"]["runs"],
        files=len(documents),
        software=facts_of([document["software"] for document in documents]),
        counted=counted,
    )
