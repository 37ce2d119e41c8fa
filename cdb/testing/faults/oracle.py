"""What must be there after a fault: a state of the script, at or after the last promised one."""

from dataclasses import dataclass
from pathlib import Path

from cdb.contents.state import verify
from cdb.contract.durability import Durability
from cdb.contract.limits import Finding
from cdb.contract.schema import Schema
from cdb.errors import DatabaseError
from cdb.schemas import find_schema
from cdb.testing.faults.script import script_of
from cdb.testing.faults.script_run import run
from cdb.testing.keys import check_by_scan
from cdb.testing.past import check_past_by_scan

OPENED = "opened"


@dataclass(frozen=True)
class Progress:
    """How far a trial got: steps begun, and those that were acknowledged as durable."""

    kept: int
    begun: int


@dataclass(frozen=True)
class Case:
    """One fault of a trial: all it takes to do it again. point: which one, in the trial's terms."""

    trial: str
    spec: str
    seed: int
    point: str

    @property
    def command(self) -> str:
        """A line for the shell that does this one again."""
        return (
            f"python -m cdb.testing.faults {self.trial} {self.spec}"
            f" --seed {self.seed} --only {self.point}"
        )


NOTHING_KNOWN = Finding()


class BrokenPromiseError(AssertionError):
    """A schema lost what was flushed, serves what never was, does not open, or does not go on.

    problem: for people. finding: what a known limit may explain.
    """

    def __init__(self, case: Case, problem: str, finding: Finding = NOTHING_KNOWN) -> None:
        self.case = case
        self.problem = problem
        self.finding = finding
        super().__init__(
            f"{case.spec}: {problem}\n"
            f"  seed {case.seed}, {case.trial} {case.point}; again: {case.command}"
        )


class Oracle:
    """Judges databases that one script of a schema left behind; see script_of."""

    def __init__(self, spec: str, seed: int, length: int = 1) -> None:
        self.script = script_of(seed, length)
        self._spec = spec
        self._info = find_schema(spec)

    @property
    def last_state(self) -> str:
        """The digest of the state that the script ends in."""
        return self.script.states[-1]

    def after_power_cut(self, progress: Progress) -> Progress:
        """What counts as kept once the power has gone: at a level below POWER nothing need be."""
        is_promised = self._info.spec.durabilities[0] is Durability.POWER
        return progress if is_promised else Progress(0, progress.begun)

    def check(self, case: Case, path: Path, progress: Progress) -> str:
        """Open, hold against the model, go on to the script's end, and open once more.

        Returns the digest that was found. Changes the database. Raises BrokenPromiseError.
        """
        reached = self.reached(case, path, progress)
        try:
            run(self.script, reached, lambda: self._open(path))
        except Exception as error:
            problem = f"after step {reached} the script cannot go on: {error_text(error)}"
            raise BrokenPromiseError(case, problem) from error
        final = self._digest(case, "opened at the end", path)
        if final != self.last_state:
            problem = f"after step {reached} the script goes on, and ends in a wrong state"
            raise BrokenPromiseError(case, problem)
        return self.script.states[reached]

    def check_whole(self, case: Case, path: Path) -> None:
        """Whether all is there that a script without a fault has left. Raises BrokenPromiseError.

        Changes the database.
        """
        if self._digest(case, "opened after a script without a fault", path) != self.last_state:
            raise BrokenPromiseError(case, "without a fault, it ends in a wrong state")

    def reached(self, case: Case, path: Path, progress: Progress) -> int:
        """Open, and hold against the model: the step that its state is of.

        Changes the database. Raises BrokenPromiseError.
        """
        digest = self._digest(case, OPENED, path)
        self.check_digest(case, digest, progress)
        return self._steps(digest, progress)[-1]

    def check_digest(self, case: Case, digest: str, progress: Progress) -> None:
        """Whether a state is one of those that may be left. Raises BrokenPromiseError."""
        if self._steps(digest, progress):
            return
        held = [step for step, state in enumerate(self.script.states) if state == digest]
        if not held:
            raise BrokenPromiseError(case, "the database holds a state that it never had")
        if held[-1] < progress.kept:
            back = f"the database is back at step {held[-1]}"
            problem = f"step {progress.kept} was acknowledged, but {back}"
        else:
            problem = f"step {progress.begun} was begun last, but the database is at step {held[0]}"
        raise BrokenPromiseError(case, problem)

    def _steps(self, digest: str, progress: Progress) -> list[int]:
        """The steps that lead to this state, among those that may be left."""
        possible = range(progress.kept, progress.begun + 1)
        return [step for step in possible if self.script.states[step] == digest]

    def _digest(self, case: Case, when: str, path: Path) -> str:
        try:
            with self._open(path) as schema:
                digest = verify(schema).digest
                check_by_scan(schema)
                check_past_by_scan(schema)
                return digest
        except Exception as error:
            finding = finding_of("fails", error, path) if when == OPENED else NOTHING_KNOWN
            problem = f"{when}, it fails: {error_text(error)}"
            raise BrokenPromiseError(case, problem, finding) from error

    def _open(self, path: Path) -> Schema:
        return self._info.open(path)


def check_ended_well(case: Case, error: object, signal: int) -> None:
    """Whether a script went well that nothing was put in. Raises BrokenPromiseError.

    Otherwise nothing that comes of a fault would say anything.
    """
    if error is not None or signal:
        problem = f"without a fault, the script ends with {error or f'signal {signal}'}"
        raise BrokenPromiseError(case, problem)


def finding_of(outcome: str, error: BaseException, path: Path) -> Finding:
    """An error that should not have come, of the database at a path."""
    file = error.path if isinstance(error, DatabaseError) else ""
    return Finding(outcome, named(Path(file), path), error=type(error).__name__)


def named(file: Path, path: Path) -> str:
    """How a finding calls a file of the database at a path."""
    return str(file.relative_to(path.parent)) if file.is_relative_to(path.parent) else str(file)


def error_text(error: BaseException) -> str:
    """Its class, and what it says."""
    return f"{type(error).__name__}: {error}"
