"""What workloads have in common, whatever they measure: the cases that they give, and a process.

A workload is a module: its docstring says what is measured, and its function measure(subject) does
it, in a fresh process. It checks every answer, and raises WrongAnswerError or NotMeasuredError.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from time import process_time
from typing import Any, ClassVar, Protocol

from cdb.bench.sync_calls import counting_syncs
from cdb.lab.process import (
    Limits,
    NotMeasuredError,
    TimeLimitError,
    WorkloadError,
    WrongAnswerError,
    fresh_within,
)

Parameters = Mapping[str, str | int]
NO_LIMITS = Limits()


class Subject(Protocol):
    """What workloads measure, as another process can be told. WORKLOADS: the package of these."""

    WORKLOADS: ClassVar[str]


@dataclass(frozen=True, slots=True)
class Case:
    """One way to run a workload, and what came of it; asdict() is a case of result.schema.json.

    outcome: measured, wrong, failed, ended or not_measured. reason: why it isn't measured.
    samples: of a load, also of one that a time limit has ended: coins so far, and seconds since its
    beginning.
    answers: their digest, where all who are compared have to answer alike.
    """

    workload: str
    parameters: Parameters = field(default_factory=dict)
    outcome: str = "measured"
    reason: str | None = None
    figures: Mapping[str, float | None] = field(default_factory=dict)
    samples: Sequence[tuple[int, float]] = field(default_factory=list)
    answers: str | None = None

    @classmethod
    def not_measured(cls, workload: str, parameters: Parameters, reason: str) -> "Case":
        """One that this machine or this schema can't do."""
        return cls(workload, parameters, "not_measured", reason)


ENDED = "ended"
"""The outcome of what a time limit has ended."""
EMPTY_CASE: Mapping[str, Any] = asdict(Case(""))
"""What a case in a file has where it doesn't say."""


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


def measure(workload: str, subject: Subject, limits: Limits = NO_LIMITS) -> list[Case]:
    """A workload's cases, measured in a fresh process that counts its syncs.

    A failure is a case, too, the only one.
    """
    limits = replace(limits, environment=counting_syncs())
    try:
        return fresh_within(limits, measure_here, workload, subject)
    except WrongAnswerError as error:
        return [Case(workload, outcome="wrong", reason=str(error))]
    except TimeLimitError as error:
        return [Case(workload, outcome=ENDED, reason=str(error), samples=error.told)]
    except WorkloadError as error:
        return [Case(workload, outcome="failed", reason=str(error))]
    except NotMeasuredError as error:
        return [Case.not_measured(workload, {}, str(error))]


def measure_here(workload: str, subject: Subject) -> list[Case]:
    """The same in this process; raises what measure() makes cases of."""
    module = import_module(f"{subject.WORKLOADS}.{workload}")
    cases: list[Case] = module.measure(subject)
    return cases


def failure(cases: Sequence[Case]) -> Case | None:
    """The first of the cases that failed, gave a wrong answer, or had no time to end."""
    return next((case for case in cases if case.outcome in ("wrong", "failed", ENDED)), None)
