"""chia's coin store and cdb's in one SQLite file, equal after faults at every file operation.

    python -m tests.chia.faults kill --seed 1 --times 100
    python -m tests.chia.faults power --seed 1 --times 100

kill: a life (tests/chia/lives.py) is killed before the n-th call that changes a file. power: a life
is recorded, and the power cut behind operations of it, which leaves what a file system may leave
(cdb.testing.faults). Either way the pair is opened again, compared, and lives on for a while.

It runs with the library preloaded that makes faults; each life is a fork of this process.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from cdb.limits import SQLITE_NOT_DURABLE
from cdb.testing.faults.crash_states import write_tree
from cdb.testing.faults.disk import FileSystem
from cdb.testing.faults.power import Recording, points
from cdb.testing.faults.recorder import read_trace
from cdb.testing.faults.shim import KILL, Calls, Shim
from cdb.testing.faults.trial import new_directory, scratch
from tests.chia.lives import live
from tests.in_fork import exit_code
from tests.preloaded import record, start_preloaded

KILLED_TRANSACTIONS = 8
CUT_TRANSACTIONS = 20
TRANSACTIONS_AFTER = 2
FAULTS_A_LIFE = 25
PLACES_A_LIFE = 10
"""A power cut behind an operation leaves one of some six states."""
PROMISING = ("NORMAL", "NORMAL", "FULL")
"""What SQLite has to be told to be, if a power cut may come."""
FILE = "twins.sqlite"


def main() -> int:
    """Make so many faults; 1 if one of them was survived badly."""
    arguments = _parser().parse_args()
    start_preloaded("tests.chia.faults")
    started, done = time.monotonic(), 0
    with scratch() as directory:
        for fault in _faults(arguments.kind, arguments.seed, directory):
            root = directory / "root"
            after = partial(live, root / FILE, fault, transactions=TRANSACTIONS_AFTER)
            if exit_code(after) != 0:
                _say(f"{arguments.kind} {fault}: the stores differ, or failed")
                return 1
            done += 1
            if done == arguments.times:
                break
    _say(f"{done} faults ({arguments.kind}), {time.monotonic() - started:.0f} s: no difference")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chia.faults", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("kind", choices=["kill", "power"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=50)
    return parser


def _faults(kind: str, seed: int, directory: Path) -> Iterator[str]:
    """Faults without end: what each leaves is in root, and this is its name."""
    number = 0
    while True:
        make = _kills if kind == "kill" else _cuts
        yield from make(f"{seed}:{number}", directory)
        number += 1


def _kills(seed: str, directory: Path) -> Iterator[str]:
    counted = directory / "counted"
    root = new_directory(directory / "root")
    _must_live(Life(root, seed, KILLED_TRANSACTIONS, _count, counted))
    n_calls = int(counted.read_text())
    for n in sorted(Random(seed).sample(range(1, n_calls + 1), min(n_calls, FAULTS_A_LIFE))):
        new_directory(root)
        # Threads and cancellations go their own ways: it may end before its n-th call.
        exit_code(Life(root, seed, KILLED_TRANSACTIONS, partial(_kill_at, n)))
        yield f"{seed} before call {n} of {n_calls}"


def _count(shim: Shim) -> None:
    shim.arm(Calls.CHANGE, 0, 0, 0)


def _kill_at(n: int, shim: Shim) -> None:
    shim.arm(Calls.CHANGE, n, n, KILL)


def _cuts(seed: str, directory: Path) -> Iterator[str]:
    trace = directory / "trace"
    root = new_directory(directory / "root")
    _must_live(Life(root, seed, CUT_TRANSACTIONS, partial(record, trace=trace)))
    recording = Recording(root, tuple(read_trace(trace)))
    recording.check_complete(SQLITE_NOT_DURABLE)
    random = Random(seed)
    file_system = random.choice([FileSystem.EXT4, FileSystem.STRICT])
    n_operations = len(recording.operations)
    places = random.sample(range(n_operations), min(n_operations, PLACES_A_LIFE))
    for point in points(recording, random.getrandbits(32), file_system, places):
        write_tree(point.tree, new_directory(root))
        yield f"{seed} on {file_system.value} at {point.name} of {n_operations}"


@dataclass(frozen=True)
class Life:
    """A life of the pair, with a fault or none. counted: where to write how many calls it made."""

    root: Path
    seed: str
    transactions: int
    arm: Callable[[Shim], None]
    counted: Path | None = None

    def __call__(self) -> None:
        """Live it, in this process."""
        shim = Shim()
        shim.watch(self.root)
        self.arm(shim)
        path = self.root / FILE
        live(path, self.seed, transactions=self.transactions, synchronous=PROMISING)
        if self.counted is not None:
            self.counted.write_text(str(shim.calls()))


def _must_live(life: Life) -> None:
    """A whole life, without a fault."""
    if exit_code(life) != 0:
        raise SystemExit(f"{life.seed}: the stores differ, or failed, without a fault")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
