"""What results come to: groups of runs that may be compared, and in each a row a schema. Pure data.

A group has one machine, profile, replay, durability and flush interval; nothing is ever compared
across groups. The floor is a group's line, not a contestant; nor is a schema that keeps nothing.
A full node's coin stores, and layouts below the coin set, are groups of other kinds.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from cdb.bench.results import Kind
from cdb.report import units
from cdb.report.options import Judged

FLOOR = "floor"
BUSY_CORES = 0.25
"""A run beside which others kept more cores busy is one of a busy machine."""
ENOUGH_RUNS = 5
"""A spread of fewer runs gets a dagger, where others have as many."""
FLOOR_BYTES_PER_COIN = 80
"""What the floor writes: a coin, 72 bytes, and 8 of its name."""
FLOOR_DESCRIPTION = (
    "A reference: it reads, parses and names coins, appends 80 bytes of each to a file, and syncs."
)
"""Whatever it was called when it was measured."""
REFERENCE_MODEL = "memory"
"""The schema that tests hold all others against: it is measured, and never recommended."""
PHASES = ("open", "parse", "accept", "flush", "close")

Document = Mapping[str, Any]
"""A run, as its file has it."""
Facts = tuple[tuple[str, str], ...]
"""Labels and texts, in the order to show them."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The least, the middle and the greatest of some runs."""

    min: float
    median: float
    max: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """At least one value."""
        return cls(min(values), statistics.median(values), max(values), len(values))

    def overlaps(self, other: "Spread") -> bool:
        """Whether the two don't lie apart, so that no difference is shown."""
        return self.min <= other.max and other.min <= self.max

    def text(self, name: str) -> str:
        """Min / median / max of a figure of this name; of a single run its value."""
        texts = [units.text(name, value) for value in (self.min, self.median, self.max)]
        if self.runs == 1:
            texts = texts[:1]
        numbers, unit = zip(*(text.rpartition(" ")[::2] for text in texts), strict=True)
        if len(set(unit)) == 1 and not any(" " in number or not number for number in numbers):
            texts = [*numbers[:-1], texts[-1]]
        return " / ".join(texts)

    def median_text(self, name: str) -> str:
        """The median of a figure of this name."""
        return units.text(name, self.median)


@dataclass(frozen=True, slots=True)
class Case:
    """A workload with its parameters, sorted by their names."""

    workload: str
    parameters: tuple[tuple[str, str | int], ...] = ()

    @classmethod
    def of(cls, workload: str, parameters: Mapping[str, str | int]) -> Self:
        """The case of these parameters, in whatever order."""
        return cls(workload, tuple(sorted(parameters.items())))

    def parameter(self, name: str) -> str | int | None:
        """A parameter's value; None where the case has none of that name."""
        return dict(self.parameters).get(name)

    def __str__(self) -> str:
        values = (
            f"{name.replace('_', ' ')} {units.number(value)}" if isinstance(value, int) else value
            for name, value in self.parameters
        )
        return ": ".join(filter(None, [self.workload, ", ".join(values)]))


LOAD = Case("load")
SETTLE = Case("settle")
TOTAL = Case("load and settle")
"""The load and the compaction that it owes, together; derived."""


class Mark(StrEnum):
    """Whether a row's answers were right; only a RIGHT row competes."""

    RIGHT = "✓"
    WRONG = "✗"
    FAILED = "failed"
    ENDED = "ended at the limit"
    NOT_MEASURED = "not measured"
    NOTHING = "keeps nothing"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why there are no figures of a case.

    outcome: wrong, failed, ended, not_measured; or missing, for runs that left no file. far: how
    far a load came that has ended: ``2.1 M of 4 M in 19 m 48 s``.
    """

    case: Case
    outcome: str
    reason: str
    runs: int
    far: str = ""

    @property
    def told(self) -> str:
        """What there is in place of figures."""
        return self.far or self.outcome.replace("_", " ")


Curve = tuple[tuple[int, float], ...]
"""Of a load: coins so far, and seconds since its beginning."""


@dataclass(frozen=True, slots=True)
class Row:
    """A schema in a group: the runs of its newest matrix. A node's coin store, or LAYOUT@ENGINE.

    figures: by case and name; names are those of the result document, and the derived ones of
    derived.py. A case of which any run failed has none, and a row of which any answer was wrong has
    none at all.
    phases: seconds of the load whose wall time is the median, so that they sum to a time that was
    measured; empty where a run doesn't tell them.
    curves: one a run, of those whose load was long enough to have samples.
    others_cores: how many cores other processes kept busy during one of the runs, at most.
    """

    schema: str
    description: str
    keeps_contract: bool
    mark: Mark
    runs: int
    matrix: str
    figures: Mapping[Case, Mapping[str, Spread]]
    problems: tuple[Problem, ...]
    phases: tuple[tuple[str, float], ...]
    curves: tuple[Curve, ...]
    others_cores: float

    @property
    def busy(self) -> bool:
        """Whether its times by the clock are those of a busy machine."""
        return self.others_cores > BUSY_CORES

    @property
    def competes(self) -> bool:
        """Whether it can be the best of its group: the reference model can't."""
        return self.mark is Mark.RIGHT and self.schema != REFERENCE_MODEL

    def figure(self, case: Case, name: str) -> Spread | None:
        """A figure; None where there is none."""
        return self.figures.get(case, {}).get(name)


def is_more_better(name: str) -> bool:
    """Whether the greatest of a figure is its best; of all others it is the least."""
    return name.endswith("_per_second")


@dataclass(frozen=True, slots=True)
class Setting:
    """What the runs of a group share.

    source: of the data, in words, or the name of a shape of keys. synchronous: SQLite's, of a node.
    asked: numbers that the shape stands for, or of a week how many blocks to sync and the time for
    each part.
    """

    machine: str
    profile: str
    limits: Facts
    coins: int
    source: str
    digest: str
    durability: str
    flush_coins: int
    kind: Kind = Kind.SCHEMAS
    synchronous: str = ""
    asked: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Runs that may be compared.

    rows: the contestants by load time, then those without one, then those that keep nothing.
    written_figure: the figure of a load that write_amplification is taken from: the nearest to the
    device that every contestant has. begun, commands, software: of all that was run.
    """

    setting: Setting
    rows: tuple[Row, ...]
    floor: Row | None
    written_figure: str
    begun: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    software: Facts = ()

    def row(self, schema: str) -> Row | None:
        """That of a schema; None where there is none."""
        return next((row for row in self.lines if row.schema == schema), None)

    def figure(self, schema: str, case: Case, name: str) -> Spread | None:
        """A schema's figure; None where there is none."""
        row = self.row(schema)
        return None if row is None else row.figure(case, name)

    def dagger(self, spread: Spread) -> str:
        """† for fewer than five runs, where others have as many."""
        few = spread.runs < ENOUGH_RUNS
        return "†" if few and any(row.runs >= ENOUGH_RUNS for row in self.rows) else ""

    def best(self, case: Case, name: str) -> float | None:
        """The best median of a figure among the rows that compete."""
        medians = [
            spread.median
            for row in self.rows
            if row.competes and (spread := row.figure(case, name)) is not None
        ]
        choose = max if is_more_better(name) else min
        return choose(medians, default=None)

    def ratio(self, row: Row, case: Case, name: str) -> float | None:
        """How many times worse than the best: 1 for the best itself.

        None for a row that doesn't compete or has no such figure, and where the best is 0.
        """
        spread, best = row.figure(case, name), self.best(case, name)
        if not row.competes or spread is None or best is None:
            return None
        worse, better = sorted((spread.median, best), reverse=True)
        return worse / better if better > 0 else None

    @property
    def lines(self) -> tuple[Row, ...]:
        """The floor, if there is one, and the rows."""
        return self.rows if self.floor is None else (self.floor, *self.rows)

    def cases(self) -> tuple[Case, ...]:
        """All cases that a row has figures of or a problem with, in the order of their files."""
        cases = [case for row in self.lines for case in row.figures]
        cases += [problem.case for row in self.lines for problem in row.problems]
        return tuple(dict.fromkeys(cases))

    def frontier(self, case: Case, name: str) -> frozenset[str]:
        """The schemas that no other beats in both load time and another figure."""
        points = [
            (time.median, other.median, row.schema)
            for row in self.rows
            if row.competes
            and (time := row.figure(LOAD, "wall_seconds")) is not None
            and (other := row.figure(case, name)) is not None
        ]
        return frozenset(
            schema
            for x, y, schema in points
            if not any(a <= x and b <= y and (a < x or b < y) for a, b, _ in points)
        )


@dataclass(frozen=True, slots=True)
class ProfileCard:
    """A profile of a machine.

    facts: of the machine, those that are others on its other profiles: it may have a disk of its
    own. measured: what its limits came to before the runs.
    """

    name: str
    facts: Facts
    limits: Facts
    measured: Facts


@dataclass(frozen=True, slots=True)
class MachineCard:
    """A machine as its runs describe it: all values of a fact, or the range of a number.

    facts: those that are the same on all profiles.
    """

    name: str
    facts: Facts
    profiles: tuple[ProfileCard, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The runs of one command. counted: whether any of them counts in a group."""

    id: str
    machine: str
    command: str
    runs: int
    files: int
    software: Facts
    counted: bool


@dataclass(frozen=True, slots=True)
class Report:
    """All that a document shows.

    node, weeks: a node's coin stores, call by call, and through a week. layouts: those below the
    coin set. pairs: options beside their defaults. elsewhere: machines of others. raw: every
    result, in the order of reading.
    """

    machines: tuple[MachineCard, ...]
    groups: tuple[Group, ...]
    matrices: tuple[Matrix, ...]
    node: tuple[Group, ...]
    weeks: tuple[Group, ...]
    layouts: tuple[Group, ...]
    pairs: tuple[Judged, ...]
    elsewhere: frozenset[str]
    raw: tuple[Document, ...]

    def place(self, machine: str) -> str:
        """A machine's name, and that it is somebody else's."""
        return f"{machine} (measured elsewhere)" if machine in self.elsewhere else machine

    def profiles_of(self, group: Group) -> dict[str, Group]:
        """The groups that differ from one in their profile alone, and itself, by profile."""
        common = replace(group.setting, profile="", limits=())
        found = {
            other.setting.profile: other
            for other in self.groups
            if replace(other.setting, profile="", limits=()) == common
        }
        return found | {group.setting.profile: group}
