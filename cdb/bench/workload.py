"""What workloads have in common: the database that they measure, and the cases that they give.

A workload is a module of cdb.bench.workloads: its docstring says what is measured, and its function
measure(database) does it, in a fresh process. It checks every answer, raises WrongAnswerError or
NotMeasuredError, and leaves a database that holds the whole replay.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from time import process_time

from cdb.bench.answers import check_newest, check_questions
from cdb.bench.sync_calls import counting_syncs
from cdb.bench.tail import packs_of
from cdb.bench.truth import Truth
from cdb.contents.loader import Loader
from cdb.contract.durability import Durability
from cdb.contract.history import BY_CREATION
from cdb.errors import UnsupportedError
from cdb.lab.process import (
    Limits,
    NotMeasuredError,
    WorkloadError,
    WrongAnswerError,
    fresh_within,
)
from cdb.schemas import HistorySchema, Schema, SchemaInfo, find_schema, history_of, offer_of

Parameters = Mapping[str, str | int]

CHECKED_NAMES, QUICK_CHECKED_NAMES = 5_000, 500
SCANNED_COINS, QUICK_SCAN_SECONDS = 1_000_000, 0.05  # a second
NO_HISTORY = "keeps no history"


@dataclass(frozen=True, slots=True)
class Database:
    """One run's database, and what is true of it.

    threads: of a load; with two, one reads, parses and names while the other stores.
    quick: ask for less, where the figures don't matter.
    groups: the files cgroup.procs of the control groups that its workloads join.
    time_limit_seconds: of each workload.
    """

    schema: str
    path: str
    durability: str
    flush_coins: int
    replay: str
    truth: Truth
    threads: int = 2
    quick: bool = False
    groups: tuple[str, ...] = ()
    time_limit_seconds: float | None = None

    @property
    def info(self) -> SchemaInfo:
        """Its schema."""
        return find_schema(self.schema)

    def open(self) -> Schema:
        """Open it; create it, where it is missing."""
        info, level = self.info, Durability(self.durability)
        # One that stores nothing may have no durability to compare.
        has_level = info.spec.keeps_contract or level in info.spec.durabilities
        return info.open(self.path, durability=level if has_level else None)

    def accept_tail(self, schema: Schema) -> None:
        """Accept what the replay has after the schema's newest block, one of the tail; check it."""
        loader = Loader(schema, flush_coins=self.flush_coins)
        for _ in loader.load(packs_of(self.truth.tail)):
            pass
        self.check_coins(schema, self.truth.newest_index)

    def check_coins(self, schema: Schema, newest_index: int) -> None:
        """Hold coins of all ages, and recent ones, against what they are after this block."""
        check_newest(schema, newest_index)
        count = QUICK_CHECKED_NAMES if self.quick else CHECKED_NAMES
        for names in ("any", "recent"):
            check_questions(schema, self.truth.questions(names, "warm", count), newest_index)

    def settled_history(self, schema: Schema) -> HistorySchema:
        """The schema as one that keeps history, with nothing left to compact.

        Raises NotMeasuredError where it keeps none.
        """
        history = kept_history(schema)
        settles = offer_of(schema).settles
        if settles is not None:
            settles.settle()
        return history

    def order_of(self, schema: Schema) -> str | None:
        """That of its states, once it is settled; None where that is not known.

        By name what is in memory yet comes last, and stays there in a schema that can't settle.
        """
        order = self.info.spec.history
        return order if order == BY_CREATION or offer_of(schema).settles is not None else None

    @property
    def scan_seconds(self) -> float:
        """How long to scan: so that it is about as much of a database in every size."""
        return QUICK_SCAN_SECONDS if self.quick else max(self.truth.coins / SCANNED_COINS, 1.0)


@dataclass(frozen=True, slots=True)
class Case:
    """One way to run a workload, and what came of it; asdict() is a case of result.schema.json.

    outcome: measured, wrong, failed or not_measured. reason: why it isn't measured.
    samples: of a load: coins so far, and seconds since its beginning.
    """

    workload: str
    parameters: Parameters = field(default_factory=dict)
    outcome: str = "measured"
    reason: str | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    samples: Sequence[tuple[int, float]] = field(default_factory=list)

    @classmethod
    def not_measured(cls, workload: str, parameters: Parameters, reason: str) -> "Case":
        """One that this machine or this schema can't do."""
        return cls(workload, parameters, "not_measured", reason)


class Allowance:
    """The CPU time that a workload's cases have together, a second at least: once it is over, none
    begins. (Not the clock's: what is not measured is not to depend on who else is at work.)"""

    def __init__(self, seconds: float) -> None:
        self._seconds = max(seconds, 1.0)
        self._start = process_time()

    def case(
        self,
        workload: str,
        parameters: Parameters,
        figures: Callable[[], Mapping[str, float | None]],
    ) -> Case:
        """One of these figures, or why there are none."""
        if process_time() - self._start >= self._seconds:
            reason = f"the cases before it took the {self._seconds:g} s of CPU that all have"
            return Case.not_measured(workload, parameters, reason)
        try:
            return Case(workload, parameters, figures=figures())
        except NotMeasuredError as error:
            return Case.not_measured(workload, parameters, str(error))


def kept_history(schema: Schema) -> HistorySchema:
    """An open schema as one that keeps history. Raises NotMeasuredError where it keeps none."""
    try:
        return history_of(schema)
    except UnsupportedError as error:
        raise NotMeasuredError(NO_HISTORY) from error


def measure(workload: str, database: Database) -> list[Case]:
    """A workload's cases, measured in a fresh process. A failure is a case, too, the only one."""
    groups = [Path(group) for group in database.groups]
    limits = Limits(groups, database.time_limit_seconds, counting_syncs())
    try:
        answer = fresh_within(limits, measure_here, workload, database)
    except WrongAnswerError as error:
        return [Case(workload, outcome="wrong", reason=str(error))]
    except WorkloadError as error:
        return [Case(workload, outcome="failed", reason=str(error))]
    except NotMeasuredError as error:
        return [Case.not_measured(workload, {}, str(error))]
    return answer


def measure_here(workload: str, database: Database) -> list[Case]:
    """The same in this process; raises what measure() makes cases of."""
    module = import_module(f"cdb.bench.workloads.{workload}")
    cases: list[Case] = module.measure(database)
    return cases
