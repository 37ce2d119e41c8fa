"""Whether anything finds a mutant: the parts of make test one after the other, and then a soak.

What finds it passes without the fault: its control.
"""

import re
import shlex
from dataclasses import dataclass
from time import monotonic

from tests.mutants import processes
from tests.mutants.mutant import Mutant
from tests.mutants.parts import Part, parts_of, soaked
from tests.mutants.working_copy import BuildError, WorkingCopy

SOAK_HOURS = 0.17
SOAK_SEED = 1
_LIMIT_SECONDS = 3600.0
"""Of a part. A test that hangs is ended long before, by pytest."""
_PASSED, _FAILED, _NO_TESTS = 0, 1, 5
_AGAIN = "  again: python "
_PYTEST = (
    *("-m", "pytest", "-v", "-x", "-rfE", "--tb=line", "-p", "no:cacheprovider", "-m", "not long"),
    *("-p", "tests.first_failure"),
)
_ended = re.compile(r"(?:FAILED|ERROR) (tests/.*)").match
_begun = re.compile(r"(tests/\S+::\S+)").match


@dataclass(frozen=True, slots=True)
class Verdict:
    """outcome: killed, survived, or invalid (it can't be tried). step: in which, by: by what."""

    outcome: str
    step: str
    by: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Found:
    """What finds a mutant. control: Python's arguments, which make it without the fault."""

    outcome: str
    step: str
    by: str
    control: tuple[str, ...] = ()


class ControlError(Exception):
    """Without a fault something does not pass, so it tells nothing of one."""


def judge(mutant: Mutant, copy: WorkingCopy, most_parts: int = 0) -> Verdict:
    """Try a mutant in a copy without a fault. Raises ControlError or StoppedError.

    most_parts: it has survived what gets past so many; 0: past all, and a soak.
    """
    copy.build()
    parts = list(parts_of(mutant))
    since = monotonic()
    with copy.with_fault(mutant):
        found = _try(mutant, parts[: most_parts or None], copy)
        if found is None and most_parts == 0:
            found = _soak(mutant, copy)
    seconds = round(monotonic() - since, 1)
    if found is not None:
        _control(found, copy)
        return Verdict(found.outcome, found.step, found.by, seconds)
    left_out = [*(part.name for part in parts[most_parts:]), "a soak"] if most_parts else []
    return Verdict("survived", "", "; ".join(["not tried", *left_out] if left_out else []), seconds)


def _try(mutant: Mutant, parts: list[Part], copy: WorkingCopy) -> Found | None:
    try:
        if copy.build() != mutant.file.startswith("native/"):
            raise BuildError("what was built is not what the fault is in")
    except BuildError as error:
        return Found("invalid", "build", str(error))
    for part in parts:
        code, lines = _pytest(copy, part)
        if code is None:
            by = f"time-out after {_LIMIT_SECONDS:.0f} s"
            return Found("killed", part.name, by, (*_PYTEST, *part.arguments))
        if code not in (_PASSED, _NO_TESTS):  # of some schemas all are long
            # Where pytest does not even begin, the fault is none that anyone would leave.
            outcome = "killed" if code < 0 or code == _FAILED else "invalid"
            test, how = _what_failed(lines)
            return Found(outcome, part.name, test + how, (*_PYTEST, test) if test else ())
    return None


def _pytest(copy: WorkingCopy, part: Part) -> tuple[int | None, list[str]]:
    return copy.run_python(*_PYTEST, *part.arguments, limit_seconds=_LIMIT_SECONDS)


def _what_failed(lines: list[str]) -> tuple[str, str]:
    """The first test that failed, or the last that was begun, when its process died; and how."""
    failed = [found[1].partition(" - ")[0] for found in map(_ended, lines) if found]
    begun = [found[1] for found in map(_begun, lines) if found]
    if failed:
        return failed[0], ""
    return (begun[-1], " (its process died)") if begun else ("", "\n".join(lines[-20:]))


def _soak(mutant: Mutant, copy: WorkingCopy) -> Found | None:
    """By what the soak said at its first failure, with the command that makes it again."""
    arguments = ("--hours", str(SOAK_HOURS), "--seed", str(SOAK_SEED))
    code, lines = processes.run(
        [copy.python, "-m", "cdb.cmds.soak", *soaked(mutant), *arguments],
        copy.path,
        copy.environment,
        limit_seconds=2 * 3600 * SOAK_HOURS,
        is_enough=lambda line: line.startswith(_AGAIN),
    )
    if code == _PASSED:
        return None
    place = next((n for n, line in enumerate(lines) if line.startswith(_AGAIN)), None)
    if place is None:
        raise ControlError("a soak ends without a word:\n" + "\n".join(lines[-20:]))
    control = tuple(shlex.split(lines[place].removeprefix(_AGAIN)))
    return Found("killed", "soak", "\n".join(lines[place - 1 : place + 1]), control)


def _control(found: Found, copy: WorkingCopy) -> None:
    """Make what finds a mutant once more, without the fault. Raises ControlError."""
    copy.build()
    if not found.control:
        return
    code, lines = copy.run_python(*found.control, limit_seconds=_LIMIT_SECONDS)
    if code != _PASSED:
        said = "\n".join(lines[-60:])
        raise ControlError(f"python {shlex.join(found.control)} fails without the fault\n{said}")
