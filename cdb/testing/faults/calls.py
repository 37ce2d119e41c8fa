"""Interferes with one system call after the other: a script runs anew for each call that it makes.

After a kill or an error the database must keep its promises. An error must be a CdbError that names
a file, and what was acknowledged must be there also when the power goes then: what a failed fsync
should have synced is lost for good. Short and interrupted calls must not be noticed. A script that
nothing was put in must go well: before all others one does, and so does each that ends before its
call comes.
"""

import errno
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from cdb.contract.limits import Finding
from cdb.errors import UnsupportedError
from cdb.testing.faults.coverage import Coverage
from cdb.testing.faults.crash_states import NOTHING, Tree, crash_state, write_tree
from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.oracle import BrokenPromiseError, Case, Oracle, check_ended_well, named
from cdb.testing.faults.recorder import read_trace
from cdb.testing.faults.runs import Request, Run, ToldError
from cdb.testing.faults.script import most_of
from cdb.testing.faults.shim import CUT_SHORT, FOREVER, KILL, Calls
from cdb.testing.faults.trial import DATABASE, new_directory

NOT_MET = "not met"
_CHANGE = Calls.CHANGE
_ANY = Calls.CHANGE | Calls.OPEN | Calls.READ
_SPACE = Calls.WRITE | Calls.SIZE | Calls.NAME
_DATA = Calls.WRITE | Calls.READ
HARMLESS = (CUT_SHORT, errno.EINTR)
"""Nobody may notice."""


@dataclass(frozen=True)
class Interference:
    """What happens to which calls. is_sticky: to all from the first one on."""

    about: str
    calls: Calls
    action: int
    is_sticky: bool = False

    @property
    def fails(self) -> bool:
        """Whether calls report an error that stands."""
        return self.action not in (KILL, *HARMLESS)


INTERFERENCES = {
    "kill": Interference("SIGKILL before the n-th call that changes a file", _CHANGE, KILL),
    "eio": Interference("the n-th call fails with EIO", _ANY, errno.EIO),
    "eio-sticky": Interference("from the n-th on all calls do", _ANY, errno.EIO, True),
    "eio-sync": Interference("the n-th fsync fails with EIO", Calls.SYNC, errno.EIO),
    "eio-sync-names": Interference(
        "from the n-th on each fsync of a directory fails with EIO",
        Calls.SYNC_NAMES,
        errno.EIO,
        is_sticky=True,
    ),
    "enospc": Interference("the n-th call that needs space finds none", _SPACE, errno.ENOSPC),
    "enospc-sticky": Interference(
        "from the n-th on none does", _SPACE, errno.ENOSPC, is_sticky=True
    ),
    "short": Interference("the n-th read or write does only half", _DATA, CUT_SHORT),
    "short-sticky": Interference("from the n-th on all do", _DATA, CUT_SHORT, True),
    "eintr": Interference("the n-th read or write is interrupted", _DATA, errno.EINTR),
}


def interfere(
    spec: str,
    seed: int,
    directory: Path,
    how: str,
    *,
    most: int | None = None,
    only: str | None = None,
) -> Coverage:
    """Run the seed's script once for each call, and check the database that is left.

    See Trial; how: one of INTERFERENCES, only: the number of one call.
    """
    interference = INTERFERENCES[how]
    oracle = Oracle(spec, seed)
    root, trace = directory / "root", directory / "trace"
    count = calls_of(oracle, Case(how, spec, seed, "none"), root, interference.calls)
    numbers = [n for n in range(1, count + 1) if only in (None, str(n))]
    chosen = choose(numbers, most_of(seed, most), seed)
    found = Counter[str]()
    for number in chosen:
        case = Case(how, spec, seed, str(number))
        last = FOREVER if interference.is_sticky else number
        request = Request(
            spec,
            seed,
            new_directory(root) / DATABASE,
            trace=trace,
            calls=interference.calls,
            first=number,
            last=last,
            action=interference.action,
        )
        ended = Run(request).listen_to_end()
        if not is_met(case, ended, number, interference.action, root):
            found[NOT_MET] += 1
        if interference.fails:
            place = new_directory(directory / "synced")
            write_tree(_synced(root, trace), place)
            oracle.check(case, place / DATABASE, oracle.after_power_cut(ended.progress))
        oracle.check(case, root / DATABASE, ended.progress)
    met = len(chosen) - found[NOT_MET]
    return Coverage(how, spec, seed, met, count, len(chosen), dict(found))


def calls_of(oracle: Oracle, case: Case, root: Path, calls: Calls) -> int:
    """How many calls of a class the script makes, once it has gone well without a fault.

    Raises BrokenPromiseError, and UnsupportedError where there is none.
    """
    request = Request(case.spec, case.seed, new_directory(root) / DATABASE, calls=calls)
    ended = Run(request).listen_to_end()
    check_ended_well(case, ended.error, ended.signal)
    oracle.check_whole(case, root / DATABASE)
    if not ended.calls:
        raise UnsupportedError(f"its script makes no call that {case.trial} could interfere with")
    return ended.calls


def is_met(case: Case, ended: Run, number: int, action: int, root: Path) -> bool:
    """Whether a run came to the call that it was to be disturbed at: threads may make fewer.

    Raises BrokenPromiseError where it ends as nothing that was put in explains.
    """
    killed = action == KILL and ended.signal == signal.SIGKILL
    if ended.signal and not killed:
        raise BrokenPromiseError(case, f"the process died of signal {ended.signal}")
    met = killed or ended.calls >= number
    if ended.error is not None:
        if not met:
            raise BrokenPromiseError(case, f"nothing was put in, and it fails: {ended.error}")
        if action in HARMLESS:
            file = named(Path(ended.error.path), root / DATABASE)
            finding = Finding("noticed", file, error=ended.error.kind)
            raise BrokenPromiseError(case, f"it is noticed: {ended.error}", finding)
        check_error(case, ended.error, root)
    return met


def check_error(case: Case, error: ToldError, root: Path) -> None:
    """What ended a script must be a CdbError that names a file below `root`."""
    if not Path(error.path).is_relative_to(root):
        raise BrokenPromiseError(case, f"the error says too little: {error}")


def _synced(root: Path, trace: Path) -> Tree:
    """What would be left if the power went when the process ended."""
    disk = Disk(str(root), FileSystem.STRICT)
    for operation in read_trace(trace):
        disk.apply(operation)
    return crash_state(disk, NOTHING)


def choose(numbers: Sequence[int], most: int | None, seed: int) -> Sequence[int]:
    """At most so many of them, of the seed's choice."""
    if most is None or len(numbers) <= most:
        return numbers
    return sorted(Random(seed).sample(numbers, most))  # noqa: S311 - reproducible, not secret
