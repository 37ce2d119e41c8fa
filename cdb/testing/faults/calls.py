"""Interferes with one system call after the other: a script runs anew for each call that it makes.

    kill            the process is killed before the n-th call that changes a file or a directory
    eio             the n-th call fails with EIO; eio-sticky: from the n-th on all do
    eio-sync        the n-th fsync fails with EIO
    enospc          the same with ENOSPC, for calls that may need space
    short           the n-th read or write does only half; short-sticky: from the n-th on all do
    eintr           the n-th read or write is interrupted

After a kill or an error the database must keep its promises. An error must be a CdbError that names
a file, and what was acknowledged must be there also when the power goes then: what a failed fsync
should have synced is lost for good. Short and interrupted calls must not be noticed.
"""

import errno
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.crash_states import NOTHING, Tree, crash_state, write_tree
from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.oracle import BrokenPromiseError, Case, Oracle
from cdb.testing.faults.recorder import read_trace
from cdb.testing.faults.shim import CUT_SHORT, FOREVER, KILL, Calls
from cdb.testing.faults.trial import DATABASE, Outcome, Request, Trials, new_directory

_ANY = Calls.CHANGE | Calls.OPEN | Calls.READ
_SPACE = Calls.WRITE | Calls.SIZE | Calls.NAME
_DATA = Calls.WRITE | Calls.READ


@dataclass(frozen=True)
class Interference:
    """What happens to which calls. is_sticky: to all from the first one on."""

    calls: Calls
    action: int
    is_sticky: bool = False

    @property
    def is_harmless(self) -> bool:
        """Whether nobody may notice."""
        return self.action in (CUT_SHORT, errno.EINTR)

    @property
    def fails(self) -> bool:
        """Whether calls report an error that stands."""
        return self.action != KILL and not self.is_harmless


INTERFERENCES = {
    "kill": Interference(Calls.CHANGE, KILL),
    "eio": Interference(_ANY, errno.EIO),
    "eio-sticky": Interference(_ANY, errno.EIO, is_sticky=True),
    "eio-sync": Interference(Calls.SYNC, errno.EIO),
    "enospc": Interference(_SPACE, errno.ENOSPC),
    "enospc-sticky": Interference(_SPACE, errno.ENOSPC, is_sticky=True),
    "short": Interference(_DATA, CUT_SHORT),
    "short-sticky": Interference(_DATA, CUT_SHORT, is_sticky=True),
    "eintr": Interference(_DATA, errno.EINTR),
}


def interfere(
    trials: Trials,
    seed: int,
    directory: Path,
    how: str,
    *,
    most_points: int | None = None,
    only: str | None = None,
) -> Coverage:
    """Run the seed's script once for each call, and check the database that is left.

    directory: an empty one, where everything is put. how: one of INTERFERENCES. most_points: make
    only so many, a choice of the seed's. only: the number of one call.
    Raises BrokenPromiseError.
    """
    interference = INTERFERENCES[how]
    oracle = Oracle(trials.spec, seed)
    root, trace = directory / "root", directory / "trace"
    counting = Request(seed, str(new_directory(root)), calls=interference.calls)
    count = trials.run(counting).calls
    numbers = [n for n in range(1, count + 1) if only in (None, str(n))]
    chosen = _chosen(numbers, most_points, seed)
    for number in chosen:
        case = Case(how, trials.spec, seed, str(number))
        last = FOREVER if interference.is_sticky else number
        request = Request(
            seed,
            str(new_directory(root)),
            str(trace),
            interference.calls,
            number,
            last,
            interference.action,
        )
        outcome = trials.run(request)
        _check_outcome(case, interference, outcome, root)
        if interference.fails:
            place = new_directory(directory / "synced")
            write_tree(_synced(root, trace), place)
            oracle.check(case, place / DATABASE, outcome.progress)
        oracle.check(case, root / DATABASE, outcome.progress)
    return Coverage(how, trials.spec, seed, len(chosen), count, len(chosen))


def _check_outcome(case: Case, interference: Interference, outcome: Outcome, root: Path) -> None:
    killed = outcome.signal == signal.SIGKILL and interference.action == KILL
    if outcome.signal and not killed:
        raise BrokenPromiseError(case, f"the process died of signal {outcome.signal}")
    if outcome.error is None:
        return
    if interference.is_harmless:
        raise BrokenPromiseError(case, f"it is noticed: {outcome.error}")
    if not outcome.is_ours or str(root) not in outcome.error:
        raise BrokenPromiseError(case, f"the error says too little: {outcome.error}")


def _synced(root: Path, trace: Path) -> Tree:
    """What would be left if the power went when the process ended."""
    disk = Disk(str(root), FileSystem.STRICT)
    for operation in read_trace(trace):
        disk.apply(operation)
    return crash_state(disk, NOTHING)


def _chosen(numbers: Sequence[int], most: int | None, seed: int) -> Sequence[int]:
    if most is None or len(numbers) <= most:
        return numbers
    return sorted(Random(seed).sample(numbers, most))  # noqa: S311 - reproducible, not secret
