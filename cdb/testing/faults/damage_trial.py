"""Damages the files of a database, one at a time: what is asked is answered right, or a CdbError.

A process of its own asks, which may die or hang: within limits of time and memory, that is a broken
promise as well. What else is one is told in damaged_reads.py; only a file whose checksums were made
right again may have anything served. What a subject is known not to do is counted instead.

The limit is on memory that a schema takes for itself: a file may be mapped at any length, so that
who does it is seen to read behind the end of one that was cut. Before a database is damaged it is
asked as it is, within the same limits, and must give right answers.
"""

import faulthandler
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdb.contract.limits import Finding
from cdb.errors import UnsupportedError
from cdb.process.children import DiedError, Pipe
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.damage import WAYS, Way
from cdb.testing.faults.damaged_reads import Rotting
from cdb.testing.faults.mutate import FORGED, MUTATION
from cdb.testing.faults.oracle import NOTHING_KNOWN, BrokenPromiseError, Case
from cdb.testing.faults.shim import SERVER
from cdb.testing.faults.subjects import subject_of
from cdb.testing.faults.trial import usable

DAMAGES: Mapping[str, Way] = {**WAYS, "fuzz": MUTATION}
PROCESSOR_SECONDS = 2.0
"""For all questions about one database, some hundred; seldom it takes a tenth of a second."""
HANG_SECONDS = 60.0
MEMORY_BYTES = 1 << 30
"""Of its own, beyond what the process has when a sound database was open in it."""
_SANITIZED_BYTES = 1 << 40  # AddressSanitizer reserves so much
_DATA_PAGES = 5  # of /proc/self/statm
_TOLD_LINES = 3
_WHAT_KILLS = {
    signal.SIGPROF: f"it takes more than {PROCESSOR_SECONDS:g} s of the processor",
    signal.SIGALRM: f"it hangs for {HANG_SECONDS:g} s",
}


@dataclass(frozen=True)
class Request:
    """Which points a process tries, see Trial; skip: how many of them not."""

    spec: str
    seed: int
    directory: Path
    way: str
    most: int | None
    only: str | None
    skip: int = 0

    @property
    def said(self) -> Path:
        """What the process writes on standard error."""
        return self.directory / "said"


@dataclass(frozen=True)
class Judged:
    """What came of one point. outcome: see damaged_reads.py; problem, finding: what was broken."""

    point: str
    outcome: str
    problem: str | None
    finding: Finding = NOTHING_KNOWN


def rot(
    spec: str,
    seed: int,
    directory: Path,
    *,
    way: str,
    most: int | None = None,
    only: str | None = None,
) -> Coverage:
    """Damage the database of the seed's script, in one of DAMAGES. See Trial."""
    usable(spec)
    found: Counter[str] = Counter()
    possible = chosen = 1
    done = 0
    while done < chosen:
        work = _Work(Request(spec, seed, directory, way, most, only, done))
        possible, chosen = work.possible, work.chosen
        for judged in work.judged:
            problem = judged.problem
            if problem is not None and subject_of(spec).limit(way, judged.finding) is None:
                case = Case(way, spec, seed, judged.point)
                raise BrokenPromiseError(case, problem, judged.finding)
            found[judged.outcome] += 1
        done += len(work.judged)
    return Coverage(way, spec, seed, chosen, possible, chosen, dict(found))


class _Work:
    """What a process has to say, until it ends or dies."""

    def __init__(self, request: Request) -> None:
        self.possible = self.chosen = 0
        self.judged: list[Judged] = []
        begun, is_damaged = None, False
        request.said.touch()
        child = SERVER.start(_work, request)
        try:
            while True:
                match told := child.receive():
                    case UnsupportedError():
                        raise told
                    case {"possible": possible, "chosen": chosen}:
                        self.possible, self.chosen = possible, chosen
                    case {"undamaged": point}:
                        begun, is_damaged = point, False
                    case str(point):
                        begun, is_damaged = point, True
                    case Judged():
                        self.judged.append(told)
                        begun = None
        except DiedError as died:
            if died.exit_code:
                how = _how_it_ended(died.exit_code, request.said.read_text(errors="replace"))
                finding = NOTHING_KNOWN
                if is_damaged:
                    finding = Finding("died", signal=-died.exit_code)
                else:
                    how = f"undamaged: {how}"
                self.judged.append(Judged(begun or "whole", "died", how, finding))
        finally:
            child.kill()


def _how_it_ended(exit_code: int, said: str) -> str:
    if -exit_code in _WHAT_KILLS:
        return _WHAT_KILLS[signal.Signals(-exit_code)]
    told = " ".join(said.split("\n")[:_TOLD_LINES])
    return f"its process ends with {exit_code}: {told}"


def _work(pipe: "Pipe[Any, Any]", request: Request) -> None:
    """Try the points of a request in this process, and send what comes of it."""
    with request.said.open("wb") as said:
        os.dup2(said.fileno(), sys.stderr.fileno())
    faulthandler.enable()
    try:
        rotting = Rotting(request.spec, request.seed, request.directory)
    except UnsupportedError as error:
        pipe.send(error)
        return
    points = list(rotting.points(request.way, DAMAGES[request.way]))
    chosen = [point for point in points if request.only in (None, str(point))][: request.most]
    pipe.send({"possible": len(points), "chosen": len(chosen)})
    _limit_memory()
    sound: set[int] = set()
    for point in chosen[request.skip :]:
        outcome, problem, finding = "broken", None, NOTHING_KNOWN
        try:
            if point.step not in sound:
                pipe.send({"undamaged": str(point)})
                with _limited_time():
                    rotting.check_undamaged(request.way, point)
                sound.add(point.step)
            pipe.send(str(point))
            with _limited_time():
                verdict = rotting.judge(request.way, point)
        except BrokenPromiseError as error:
            problem = error.problem
        else:
            outcome, finding = verdict.outcome, verdict.finding
            problem = None if point.place.startswith(FORGED) else verdict.problem
        pipe.send(Judged(str(point), outcome, problem, finding))


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[_DATA_PAGES])
    held_bytes = pages * os.sysconf("SC_PAGE_SIZE")
    if held_bytes < _SANITIZED_BYTES:
        most_bytes = held_bytes + MEMORY_BYTES
        resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, most_bytes))


@contextmanager
def _limited_time() -> Iterator[None]:
    """Whoever takes longer is killed."""
    signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
