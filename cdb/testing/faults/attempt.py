"""One trial in a process of its own, which may die or hang, and nothing but it ends."""

import shlex
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing.connection import wait
from time import monotonic
from typing import Any

from cdb.contract.limits import Finding
from cdb.errors import CdbError, UnsupportedError
from cdb.process.children import DiedError, Pipe, Spawn, end_all
from cdb.process.termination import end_at_sigterm
from cdb.testing.faults.catalogue import CATALOGUE
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.oracle import NOTHING_KNOWN, BrokenPromiseError
from cdb.testing.faults.trial import scratch

COMMAND = "cdb.testing.faults"
GRACE_SECONDS = 10.0
"""How long a trial that is broken off may take to delete what it made."""
TOLD_CHARACTERS = 2000
_SHOWING_CRASHES = {"PYTHONFAULTHANDLER": "1"}


@dataclass(frozen=True)
class Failure:
    """The trial did not end well. command: does it again. said: what its process said at last."""

    problem: str
    command: str
    said: str = ""


@dataclass(frozen=True)
class BrokenPromise(Failure):
    """That is what the trial found. problem: for people; finding: what a limit may explain."""

    finding: Finding = NOTHING_KNOWN


@dataclass(frozen=True)
class Untried:
    """The schema can't be tried so, or not on this machine."""

    reason: str


Verdict = Coverage | Failure | Untried


@dataclass(frozen=True)
class Attempt:
    """A trial to be made. most: see cdb.testing.faults.catalogue.Trial."""

    trial: str
    spec: str
    seed: int
    most: int | None = None

    @property
    def command(self) -> str:
        """A line for the shell that makes it again."""
        most = [] if self.most is None else ["--most", str(self.most)]
        line = ["python", "-m", COMMAND, self.trial, self.spec, "--seed", str(self.seed), *most]
        return shlex.join(line)

    def make(self, only: str | None = None) -> Verdict:
        """Make it in this process. only: see Trial. Raises what no trial should."""
        kind = CATALOGUE[self.trial]
        problem = kind.missing()
        if problem is not None:
            return Untried(problem)
        with scratch(on_disk=kind.needs_disk) as directory:
            try:
                return kind.make(self.spec, self.seed, directory, most=self.most, only=only)
            except UnsupportedError as error:
                return Untried(str(error))
            except BrokenPromiseError as error:
                return BrokenPromise(error.problem, error.case.command, finding=error.finding)
            except CdbError as error:
                return Failure(str(error), self.command)


class Making:
    """An attempt that is being made in a process of its own. since: as monotonic() tells."""

    def __init__(self, attempt: Attempt, time_limit_seconds: float) -> None:
        self.attempt = attempt
        self.since = monotonic()
        self._time_limit_seconds = time_limit_seconds
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - it lasts as long as this
        way = Spawn(environment=_SHOWING_CRASHES, said=self._said, is_apart=True)
        self.child = way.start(_send_verdict, attempt)

    def verdict(self) -> Verdict | None:
        """How it has ended, which is said once; None while it goes on."""
        try:
            if self.child.pipe.poll():
                verdict: Verdict = self.child.receive()
                self.child.exit_code(GRACE_SECONDS)
            elif monotonic() < self.since + self._time_limit_seconds:
                return None
            else:
                problem = f"it takes longer than {self._time_limit_seconds:g} s"
                verdict = Failure(problem, self.attempt.command)
        except DiedError as died:
            verdict = self._death(died.exit_code)
        end_all([self.child], GRACE_SECONDS)
        return verdict

    def _death(self, exit_code: int | None) -> Failure:
        self._said.seek(0)
        said = self._said.read().decode(errors="replace").strip()[-TOLD_CHARACTERS:]
        last_line = said.rpartition("\n")[2]
        if exit_code is not None and exit_code < 0:
            problem = f"its process was killed by signal {-exit_code}"
        else:
            problem = f"its process ended with exit code {exit_code}: {last_line}"
        return Failure(problem, self.attempt.command, said)


def ended(makings: Iterable[Making], seconds: float) -> list[tuple[Making, Verdict]]:
    """Those that have ended, or taken too long, and how; waits up to so long for one."""
    made = {making.child.pipe: making for making in makings}
    wait(made, seconds)
    return [
        (making, verdict) for making in made.values() if (verdict := making.verdict()) is not None
    ]


def break_off(makings: Iterable[Making]) -> None:
    """End them: what they made is deleted, as far as they do it in time."""
    end_all([making.child for making in makings], GRACE_SECONDS)


def _send_verdict(pipe: "Pipe[Any, Any]", attempt: Attempt) -> None:
    end_at_sigterm()
    pipe.send(attempt.make())
