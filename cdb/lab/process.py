"""Runs a workload in a fresh process, so that no run inherits memory or caches of another.

A workload is a function that another process can import; so are its arguments and its answer.
"""

import traceback
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from cdb.errors import CdbError
from cdb.process.children import Child, DiedError, Pipe, SilentError, Spawn

P = ParamSpec("P")
F = TypeVar("F")


class WorkloadError(CdbError):
    """A workload failed: its schema did, or gave a wrong answer."""


class WrongAnswerError(WorkloadError):
    """A database does not answer what its replay says."""


class KilledError(WorkloadError):
    """The process of a workload was killed."""


class TimeLimitError(WorkloadError):
    """A workload took longer than it may. told: what it had told of how far it came."""

    def __init__(self, problem: str, told: Sequence[Any] = ()) -> None:
        super().__init__(problem)
        self.told = told


class NotMeasuredError(CdbError):
    """A figure can't be had of this schema or on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Failed:
    """What a workload's process answers for an error: what to raise here, and its text."""

    kind: type[CdbError]
    problem: str


@dataclass(frozen=True, slots=True)
class Told:
    """What a workload's process sends before it answers."""

    what: object


_telling: ContextVar[Callable[[object], None]] = ContextVar("_telling", default=lambda what: None)


def tell(what: object) -> None:
    """In a workload's process: how far it came, which counts if it takes longer than it may."""
    _telling.get()(what)


@dataclass(frozen=True, slots=True)
class Limits:
    """groups, environment: see Spawn."""

    groups: Sequence[Path] = ()
    time_seconds: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def fresh(workload: Callable[P, F], *arguments: P.args, **named: P.kwargs) -> F:
    """What the workload returns in a new process.

    Raises WorkloadError, or one below it, or NotMeasuredError. When it is broken off, that process
    ends.
    """
    return fresh_within(Limits(), workload, *arguments, **named)


def fresh_within(
    limits: Limits, workload: Callable[P, F], *arguments: P.args, **named: P.kwargs
) -> F:
    """The same within limits. Raises TimeLimitError, too."""
    spawn = Spawn(limits.groups, limits.environment)
    child = spawn.start(_work, workload, arguments, named)
    told: list[object] = []
    try:
        answer: F | Failed = _answer_of(child, limits.time_seconds, told)
        exit_code = child.exit_code(limits.time_seconds)
        if exit_code != 0:
            raise SilentError(limits.time_seconds) if exit_code is None else DiedError(exit_code)
    except SilentError:
        raise TimeLimitError(f"time limit of {limits.time_seconds:,.0f} s", told) from None
    except DiedError as died:
        if died.exit_code is not None and died.exit_code < 0:
            problem = f"its process was killed by signal {-died.exit_code}"
            raise KilledError(problem) from None
        problem = f"its process ended with exit code {died.exit_code}"
        raise WorkloadError(problem) from None
    finally:
        child.kill()
    if isinstance(answer, Failed):
        raise answer.kind(answer.problem)
    return answer


def _answer_of(child: Child, seconds: float | None, told: list[object]) -> Any:
    """Raises SilentError when there is none in time; told has what was told until then."""
    end = None if seconds is None else monotonic() + seconds
    while True:
        received = child.receive(None if end is None else max(0.0, end - monotonic()))
        if not isinstance(received, Told):
            return received
        told.append(received.what)


def _work(
    pipe: "Pipe[Any, Any]",
    workload: Callable[..., object],
    arguments: Sequence[object],
    named: Mapping[str, object],
) -> None:
    answer: object
    _telling.set(lambda what: pipe.send(Told(what)))
    try:
        answer = workload(*arguments, **named)
    except (NotMeasuredError, WrongAnswerError) as error:
        answer = Failed(type(error), str(error))
    except CdbError as error:
        answer = Failed(WorkloadError, str(error))
    except Exception as error:
        # A schema may be anybody's code, and then only its author knows what this means.
        traceback.print_exc()
        answer = Failed(WorkloadError, " ".join(f"{type(error).__name__}: {error}".split()))
    pipe.send(answer)
