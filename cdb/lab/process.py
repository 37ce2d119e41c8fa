"""Runs a workload in a fresh process, so that no run inherits memory or caches of another.

A workload is a function of a module that takes what JSON can hold and returns a flat dataclass.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar, get_type_hints

from cdb.errors import CdbError

P = ParamSpec("P")
F = TypeVar("F")

# The shell joins the groups before it becomes Python, so that all of Python's memory counts.
_JOIN = """
until [ "$1" = -- ]; do
    echo $$ > "$1" || exit
    shift
done
shift
exec "$@"
"""


class WorkloadError(CdbError):
    """A workload failed: its schema did, or gave a wrong answer."""


class WrongAnswerError(WorkloadError):
    """A database does not answer what its replay says."""


class KilledError(WorkloadError):
    """The process of a workload was killed."""


class TimeLimitError(WorkloadError):
    """A workload took longer than it may."""


class NotMeasuredError(CdbError):
    """A figure can't be had of this schema or on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a workload ended: with figures, an error, or a reason why there is none to measure."""

    figures: dict[str, object] | None = None
    error: str | None = None
    wrong: str | None = None
    not_measured: str | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """groups: the control groups that a process joins, of each its file cgroup.procs.

    environment: what it has besides the variables of this process.
    """

    groups: Sequence[Path] = ()
    time_seconds: float | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def fresh(workload: Callable[P, F], *arguments: P.args, **named: P.kwargs) -> F:
    """What the workload returns in a new process.

    Raises WorkloadError, or one below it, or NotMeasuredError. When it is broken off, that process
    ends.
    """
    return _run(Limits(), workload, arguments, named)


def fresh_within(
    limits: Limits, workload: Callable[P, F], *arguments: P.args, **named: P.kwargs
) -> F:
    """The same within limits. Raises TimeLimitError, too."""
    return _run(limits, workload, arguments, named)


def module_command(module: str) -> list[str]:
    """The command that runs a module of ours in a new process, with module_environment()."""
    return [sys.executable, "-m", module]


def module_environment() -> dict[str, str]:
    """For a new process: the same modules as here, those of the current directory included."""
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    return os.environ | {"PYTHONPATH": paths}


def _run(
    limits: Limits,
    workload: Callable[..., F],
    arguments: tuple[object, ...],
    named: dict[str, object],
) -> F:
    job = {
        "module": workload.__module__,
        "function": workload.__name__,
        "arguments": arguments,
        "named": named,
    }
    command = [*module_command("cdb.lab.worker"), str(os.getpid())]
    if limits.groups:
        command = ["/bin/sh", "-c", _JOIN, "sh", *map(str, limits.groups), "--", *command]
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**module_environment(), **limits.environment},
    ) as process:
        try:
            out, _ = process.communicate(json.dumps(job).encode(), limits.time_seconds)
        except BaseException as error:
            process.kill()
            process.wait()  # after Ctrl-C the end of this block would not
            if isinstance(error, subprocess.TimeoutExpired):
                problem = f"time limit of {limits.time_seconds:,.0f} s"
                raise TimeLimitError(problem) from None
            raise
    if process.returncode < 0:
        raise KilledError(f"its process was killed by signal {-process.returncode}")
    if process.returncode:
        raise WorkloadError(f"its process ended with exit code {process.returncode}")
    answer = Answer(**json.loads(out))
    if answer.not_measured is not None:
        raise NotMeasuredError(answer.not_measured)
    if answer.wrong is not None:
        raise WrongAnswerError(answer.wrong)
    if answer.error is not None:
        raise WorkloadError(answer.error)
    made: F = get_type_hints(workload)["return"](**(answer.figures or {}))
    return made
