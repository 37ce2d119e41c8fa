"""Whether anything finds a mutant: the parts of the tests one after the other, and then a soak.

Each part passes first without a fault: its control. A soak's control is the very trial that failed,
made again without the fault.
"""

import re
import shlex
import threading
from dataclasses import dataclass
from itertools import takewhile
from time import monotonic

from tests.mutants import processes
from tests.mutants.mutant import Mutant
from tests.mutants.parts import Part, parts_of, soaked
from tests.mutants.working_copy import BuildError, WorkingCopy

SOAK_HOURS = 0.17
SOAK_SEED = 1
_LIMIT_SECONDS = 1800.0
"""Of what nothing is known yet. A part is late after so many times what its control takes: """
_LATE_FACTOR, _LATE_SECONDS = 5.0, 120.0
_PASSED, _FAILED = 0, 1
_SURVIVED = "survived", "", ""
_AGAIN = "  again: python "
_ended = re.compile(r"(?:FAILED|ERROR) (tests/.*)").match
_begun = re.compile(r"(tests/\S+::\S+)").match


@dataclass(frozen=True, slots=True)
class Verdict:
    """outcome: killed, survived, or invalid (it can't be tried). step: in which, by: by what."""

    outcome: str
    step: str
    by: str
    seconds: float


class ControlError(Exception):
    """Without a fault something does not pass, so it tells nothing of one."""


class Controls:
    """How many seconds each part takes without a fault; made once, where they are not known yet."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self._locks: dict[str, threading.Lock] = {}
        self._mutex = threading.Lock()

    def leading(self, parts: list[Part], copy: WorkingCopy) -> list[tuple[Part, float]]:
        """Those parts that come first and are known, at least the first one: it is made in a copy
        without a fault, unless another copy has made it. Raises ControlError."""
        with self._mutex:
            lock = self._locks.setdefault(parts[0].name, threading.Lock())
        with lock:
            if parts[0].name not in self.seconds:
                self._run(parts[0], copy)
        known = takewhile(lambda part: part.name in self.seconds, parts)
        return [(part, self.seconds[part.name]) for part in known]

    def _run(self, part: Part, copy: WorkingCopy) -> None:
        copy.build()
        since = monotonic()
        code, lines = _pytest(copy, part, _LIMIT_SECONDS)
        if code != _PASSED:
            said = "\n".join(lines[-60:])
            raise ControlError(f"{part.name}: exit code {code} without a fault\n{said}")
        self.seconds[part.name] = round(monotonic() - since, 1)


def judge(mutant: Mutant, copy: WorkingCopy, controls: Controls, most_parts: int = 0) -> Verdict:
    """Try a mutant in a copy without a fault. Raises ControlError or StoppedError.

    most_parts: it has survived what gets past so many; 0: past all, and a soak.
    """
    parts, seconds, step = list(parts_of(mutant)), 0.0, ""
    left_out = parts[most_parts:] if most_parts > 0 else []
    del parts[len(parts) - len(left_out) :]
    while parts and not step:
        due = controls.leading(parts, copy)
        del parts[: len(due)]
        copy.build()
        since = monotonic()
        with copy.with_fault(mutant):
            outcome, step, by = _try(mutant, due, copy)
            if not step and not parts and most_parts == 0:
                outcome, step, by = _soak(mutant, copy)
        seconds += monotonic() - since
    if not step and most_parts > 0:
        by = f"not tried: {', '.join(part.name for part in left_out)}, and a soak"
    if step == "soak":
        _make_again(by, copy)
    return Verdict(outcome, step, by, round(seconds, 1))


def _try(
    mutant: Mutant, parts: list[tuple[Part, float]], copy: WorkingCopy
) -> tuple[str, str, str]:
    try:
        if copy.build() != mutant.file.startswith("native/"):
            raise BuildError("what was built is not what the fault is in")
    except BuildError as error:
        return "invalid", "build", str(error)
    for part, seconds in parts:
        limit = _LATE_FACTOR * seconds + _LATE_SECONDS
        code, lines = _pytest(copy, part, limit)
        if code is None:
            return "killed", part.name, f"time-out after {limit:.0f} s, where {seconds} do"
        if code != _PASSED:
            # Where pytest does not even begin, the fault is none that anyone would leave.
            outcome = "killed" if code < 0 or code == _FAILED else "invalid"
            return outcome, part.name, _what_failed(lines)
    return _SURVIVED


def _pytest(copy: WorkingCopy, part: Part, limit_seconds: float) -> tuple[int | None, list[str]]:
    command = ("-m", "pytest", "-v", "-x", "-rfE", "--tb=line", "-p", "no:cacheprovider")
    return copy.run_python(*command, *part.arguments, limit_seconds=limit_seconds)


def _what_failed(lines: list[str]) -> str:
    """The first test that failed, or the last that was begun, when its process died."""
    failed = [found[1] for found in map(_ended, lines) if found]
    begun = [found[1] for found in map(_begun, lines) if found]
    if failed:
        return failed[0]
    return f"{begun[-1]} (its process died)" if begun else "\n".join(lines[-20:])


def _soak(mutant: Mutant, copy: WorkingCopy) -> tuple[str, str, str]:
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
        return _SURVIVED
    place = next((n for n, line in enumerate(lines) if line.startswith(_AGAIN)), None)
    if place is None:
        raise ControlError("a soak ends without a word:\n" + "\n".join(lines[-20:]))
    return "killed", "soak", "\n".join(lines[place - 1 : place + 1])


def _make_again(failure: str, copy: WorkingCopy) -> None:
    """Make the trial that failed once more, without the fault. Raises ControlError."""
    copy.build()
    command = failure.rpartition(_AGAIN)[2]
    code, lines = copy.run_python(*shlex.split(command), limit_seconds=_LIMIT_SECONDS)
    if code != _PASSED:
        said = "\n".join(lines[-20:])
        raise ControlError(f"python {command} fails without the fault\n{said}")
