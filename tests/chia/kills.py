"""chia's coin store and cdb's in one SQLite file, equal after kill -9 at every file operation.

    python -m tests.chia.kills --seed 1 --times 100

A life (tests/chia/lives.py) is killed before the n-th call that changes a file; then the pair is
opened again, compared, and lives on for a while. Power cuts: python -m tests.cmds.cuts follow.

It runs with the library preloaded that makes faults; each life is a fork of this process.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from signal import SIGKILL

from cdb.testing.faults.shim import KILL, Calls, Shim
from cdb.testing.faults.trial import new_directory, scratch
from tests.chia.lives import live
from tests.in_fork import exit_code
from tests.preloaded import start_preloaded

TRANSACTIONS = 8
TRANSACTIONS_AFTER = 2
KILLS_A_LIFE = 25
FILE = "twins.sqlite"


def main() -> int:
    """Kill so many lives; 1 if one of them was survived badly."""
    arguments = _parser().parse_args()
    start_preloaded("tests.chia.kills")
    started, done = time.monotonic(), 0
    with scratch() as directory:
        for kill in _kills(arguments.seed, directory):
            root = directory / "root"
            after = partial(live, root / FILE, kill, transactions=TRANSACTIONS_AFTER)
            if exit_code(after) != 0:
                _say(f"{kill}: the stores differ, or failed")
                return 1
            done += 1
            if done == arguments.times:
                break
    _say(f"{done} kills, {time.monotonic() - started:.0f} s: no difference")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chia.kills", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=50)
    return parser


def _kills(seed: int, directory: Path) -> Iterator[str]:
    """Kills without end: what each leaves is in root, and this is its name."""
    for number in count():
        yield from _kills_of_a_life(f"{seed}:{number}", directory)


def _kills_of_a_life(seed: str, directory: Path) -> Iterator[str]:
    counted = directory / "counted"
    root = new_directory(directory / "root")
    _must_live(Life(root, seed, _count, counted))
    n_calls, n_killed = int(counted.read_text()), 0
    for n in sorted(Random(seed).sample(range(1, n_calls + 1), min(n_calls, KILLS_A_LIFE))):
        new_directory(root)
        # Threads and cancellations go their own ways: it may end before its n-th call.
        if exit_code(Life(root, seed, partial(_kill_at, n))) == -SIGKILL:
            n_killed += 1
            yield f"{seed} before call {n} of {n_calls}"
    if not n_killed:
        raise SystemExit(f"{seed}: of {n_calls} calls none was killed")


def _count(shim: Shim) -> None:
    shim.arm(Calls.CHANGE, 0, 0, 0)


def _kill_at(n: int, shim: Shim) -> None:
    shim.arm(Calls.CHANGE, n, n, KILL)


@dataclass(frozen=True)
class Life:
    """A life of the pair, which is killed or not. counted: where to write how many calls it has."""

    root: Path
    seed: str
    arm: Callable[[Shim], None]
    counted: Path | None = None

    def __call__(self) -> None:
        """Live it, in this process."""
        shim = Shim()
        shim.watch(self.root)
        self.arm(shim)
        path = self.root / FILE
        live(path, self.seed, transactions=TRANSACTIONS, synchronous=("NORMAL", "FULL"))
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
