"""Real power cuts: a file system is shut down under a running script, and mounted again.

What it had not handed to its disk is gone, whoever wrote it: threads, mappings, other processes.
The disk, which is a file, forgets nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from time import sleep

from cdb.disk.files import fsync_dir
from cdb.lab.image import FileSystem
from cdb.lab.profile import FAST, SLOW, SPINNING, Profile
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.loop_disk import SMALL_EXT4, XFS, LoopDisk, loop_disk, missing
from cdb.testing.faults.oracle import BrokenPromiseError, Case, Oracle, Progress
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.trial import DATABASE, new_directory

LONGEST_WAIT_SECONDS = 0.05
LOST_NOTHING = "lost nothing"
LOST_UNPROMISED = "lost what was not promised"


@dataclass(frozen=True)
class Ground:
    """Where the power is cut. length: of the script, see script_of; cuts: of a trial."""

    about: str
    file_system: FileSystem
    profile: Profile = FAST
    length: int = 8
    cuts: int = 10

    def missing(self) -> str | None:
        """Why it can't be had here; None when it can."""
        return missing(self.file_system, self.profile)


GROUNDS = {
    "cut-ext4": Ground("ext4 is shut down under a running script", SMALL_EXT4),
    "cut-xfs": Ground("xfs is", XFS),
    "cut-slow": Ground("ext4 on a slow disk is", SMALL_EXT4, SLOW, length=1),
    # One cut of a load takes a store that syncs many files over a minute.
    "cut-spinning": Ground(
        "ext4 on a disk as slow as those that spin", SMALL_EXT4, SPINNING, length=1, cuts=2
    ),
}


@dataclass(frozen=True)
class Moment:
    """When the power goes: so long after a step was begun, and so long after the next opening."""

    step: int
    wait_us: int
    opening_us: int

    @property
    def name(self) -> str:
        """What a failure calls it."""
        return f"{self.step}+{self.wait_us}us+{self.opening_us}us"


def cut_really(
    spec: str,
    seed: int,
    directory: Path,
    trial: str,
    *,
    most: int | None = None,
    only: str | None = None,
) -> Coverage:
    """Cut the power twice at moments of the seed's choice, each time of a new database.

    See Trial; trial: one of GROUNDS, most: the ground's cuts if None, only: a moment, at which the
    same things happen as far as chance allows.
    """
    ground = GROUNDS[trial]
    oracle = Oracle(spec, seed, ground.length)
    last = len(oracle.script.steps)
    chosen = moments(last, seed, most or ground.cuts, only)
    found = Counter[str]()
    with loop_disk(directory, ground.file_system, ground.profile) as disk:
        for moment in chosen:
            path = _new_place(disk) / DATABASE
            load = Request(spec, seed, path, ground.length, groups=disk.groups)
            case = Case(trial, spec, seed, moment.name)
            progress = _cut(case, load, moment.step, moment.wait_us, disk)
            # The last step closes: all that is left to do is to open.
            opening = replace(load, done=last - 1)
            _cut(case, opening, last, moment.opening_us, disk)
            digest = oracle.check(case, path, oracle.after_power_cut(progress))
            lost_nothing = digest == oracle.script.states[progress.begun]
            found[LOST_NOTHING if lost_nothing else LOST_UNPROMISED] += 1
    return Coverage(trial, spec, seed, len(chosen), len(chosen), len(chosen), dict(found))


def moments(steps: int, seed: int, cuts: int, only: str | None) -> Sequence[Moment]:
    """So many of a script with so many steps; or the one that is named, if it is one."""
    if only is not None:
        named = re.fullmatch(r"(\d{1,6})\+(\d{1,9})us\+(\d{1,9})us", only)
        return [Moment(*map(int, named.groups()))] if named else []
    random = Random(seed)  # noqa: S311 - reproducible, not secret

    def wait_us() -> int:
        # Most often soon after a step: what was promised just then is lost most easily.
        return int(1e6 * LONGEST_WAIT_SECONDS * random.random() ** 3)

    return [Moment(random.randint(1, steps), wait_us(), wait_us()) for _ in range(cuts)]


def _new_place(disk: LoopDisk) -> Path:
    """An empty directory that is there after a cut: a schema answers for its own alone."""
    place = new_directory(disk.directory / "root")
    fsync_dir(place)
    fsync_dir(disk.directory)
    return place


def _cut(case: Case, request: Request, step: int, wait_us: int, disk: LoopDisk) -> Progress:
    """How far a run got. An acknowledgement counts if it was heard before the cut."""
    with Run(request) as run:
        run.listen_until(step)
        sleep(wait_us / 1e6)
        run.listen()
        kept = run.progress.kept
        if run.error is not None or run.signal:
            which = "the opening after a cut" if request.done else "the load"
            problem = f"{which} ends with {run.error or run.signal}, the power being there"
            raise BrokenPromiseError(case, problem)
        disk.cut_power()
        run.listen_to_end()
    disk.restart()
    return Progress(kept, run.progress.begun)
