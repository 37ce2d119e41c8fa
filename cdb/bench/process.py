"""Runs a workload in a process of its own, so that no run inherits memory or caches of another.

A workload is a function of a module that takes what JSON can hold and returns a flat dataclass.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar, get_type_hints

from cdb.errors import CdbError

P = ParamSpec("P")
F = TypeVar("F")

# The shell joins the group before it becomes Python, so that all of Python's memory counts.
_JOIN = ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"']


class WorkloadError(CdbError):
    """A workload failed: its schema did, or gave a wrong answer."""


class KilledError(WorkloadError):
    """The process of a workload was killed."""


class NotMeasuredError(CdbError):
    """A figure can't be had of this schema or on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a workload ended: with figures, an error, or a reason why there is none to measure."""

    figures: dict[str, object] | None = None
    error: str | None = None
    not_measured: str | None = None


def fresh(workload: Callable[P, F], *arguments: P.args, **named: P.kwargs) -> F:
    """What the workload returns in a new process.

    Raises WorkloadError, KilledError or NotMeasuredError. When it is broken off, that process ends.
    """
    return _run([], workload, arguments, named)


def fresh_within(group: Path, workload: Callable[P, F], *arguments: P.args, **named: P.kwargs) -> F:
    """The same, within a control group, of which `group` is the file cgroup.procs."""
    return _run([*_JOIN, str(group)], workload, arguments, named)


def _run(
    prefix: list[str],
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
    # The same modules as here, those of the current directory included.
    paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
    with subprocess.Popen(  # noqa: S603 - our own command
        [*prefix, sys.executable, "-m", "cdb.bench.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": paths},
    ) as process:
        try:
            out, _ = process.communicate(json.dumps(job).encode())
        except BaseException:
            process.kill()
            process.wait()  # after Ctrl-C the end of this block would not
            raise
    if process.returncode < 0:
        raise KilledError(f"its process was killed by signal {-process.returncode}")
    if process.returncode:
        raise WorkloadError(f"its process ended with exit code {process.returncode}")
    answer = Answer(**json.loads(out))
    if answer.not_measured is not None:
        raise NotMeasuredError(answer.not_measured)
    if answer.error is not None:
        raise WorkloadError(answer.error)
    made: F = get_type_hints(workload)["return"](**(answer.figures or {}))
    return made
