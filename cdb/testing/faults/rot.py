"""Damages the files of a database, one at a time: what is asked is answered right, or a CdbError.

A process of its own asks, which may die or hang: within limits of time and memory, that is a broken
promise as well. What else is one is told in rotting.py; only a file whose checksums were made right
again may have anything served. What a subject is known not to do is counted instead.

The limit is on memory that a schema takes for itself: a file may be mapped at any length, so that
who does it is seen to read behind the end of one that was cut. Before a database is damaged it is
asked as it is, within the same limits, and must give right answers.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from cdb.errors import UnsupportedError
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.damage import WAYS, Way
from cdb.testing.faults.mutate import FORGED, MUTATION
from cdb.testing.faults.oracle import BrokenPromiseError, Case
from cdb.testing.faults.rotting import Rotting
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
    directory: str
    way: str
    most: int | None
    only: str | None
    skip: int = 0


@dataclass(frozen=True)
class Judged:
    """What came of one point. outcome: see rotting.py; problem: the promise that was broken."""

    point: str
    outcome: str
    problem: str | None


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
        work = _Work(Request(spec, seed, str(directory), way, most, only, done))
        possible, chosen = work.possible, work.chosen
        for judged in work.judged:
            problem = judged.problem
            if problem is not None and subject_of(spec).limit(way, problem) is None:
                raise BrokenPromiseError(Case(way, spec, seed, judged.point), problem)
            found[judged.outcome] += 1
        done += len(work.judged)
    return Coverage(way, spec, seed, chosen, possible, chosen, dict(found))


class _Work:
    """What a process has to say, until it ends or dies."""

    def __init__(self, request: Request) -> None:
        program = f"from {__name__} import work; work()"
        command = [sys.executable, "-X", "faulthandler", "-c", program, json.dumps(asdict(request))]
        process = subprocess.run(command, check=False, capture_output=True)  # noqa: S603
        self.possible = self.chosen = 0
        self.judged: list[Judged] = []
        begun, when = None, ""
        for line in process.stdout.splitlines():
            match json.loads(line):
                case {"unsupported": reason}:
                    raise UnsupportedError(reason)
                case {"possible": possible, "chosen": chosen}:
                    self.possible, self.chosen = possible, chosen
                case {"undamaged": point}:
                    begun, when = point, "undamaged: "
                case str(point):
                    begun, when = point, ""
                case judged:
                    self.judged.append(Judged(**judged))
                    begun = None
        if process.returncode:
            how = _how_it_ended(process.returncode, process.stderr.decode(errors="replace"))
            self.judged.append(Judged(begun or "whole", "died", f"{when}{how}"))


def _how_it_ended(exit_code: int, said: str) -> str:
    if -exit_code in _WHAT_KILLS:
        return _WHAT_KILLS[signal.Signals(-exit_code)]
    told = " ".join(said.split("\n")[:_TOLD_LINES])
    return f"its process ends with {exit_code}: {told}"


def work() -> None:
    """Try the points of the request in sys.argv[1], and say on standard output what comes of it."""
    request = Request(**json.loads(sys.argv[1]))
    try:
        rotting = Rotting(request.spec, request.seed, Path(request.directory))
    except UnsupportedError as error:
        _say({"unsupported": str(error)})
        return
    points = list(rotting.points(request.way, DAMAGES[request.way]))
    chosen = [point for point in points if request.only in (None, str(point))][: request.most]
    _say({"possible": len(points), "chosen": len(chosen)})
    _limit_memory()
    sound: set[int] = set()
    for point in chosen[request.skip :]:
        outcome, problem = "broken", None
        try:
            if point.step not in sound:
                _say({"undamaged": str(point)})
                with _limited_time():
                    rotting.check_undamaged(request.way, point)
                sound.add(point.step)
            _say(str(point))
            with _limited_time():
                verdict = rotting.judge(request.way, point)
        except BrokenPromiseError as error:
            problem = error.problem
        else:
            outcome = verdict.outcome
            problem = None if point.place.startswith(FORGED) else verdict.problem
        _say(asdict(Judged(str(point), outcome, problem)))


def _say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


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
