"""chia's coin store and cdb's in one SQLite file: the same blocks, the same answers, after kill -9.

    python -m tests.chia.twin --seed 1 --kills 100
    python -m tests.chia.twin --seed 1 --walks 10
    python -m tests.chia.twin --seed 1 --minutes 60

Each life of the pair is a process. It compares the two as it finds them, and then goes on with
random transactions (tests/chia/lives.py): until it is killed, at a random moment; or, where it
walks, through some of them, while other tasks ask both, and it closes the pair. With --minutes each
other life walks. Whatever differs, or fails, ends the test with the seed and the number of the
life.
"""

import argparse
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random

from cdb.process.children import fork
from tests.chia.lives import live
from tests.in_fork import exit_code

LIVES_A_FILE = 25
LONGEST_SECONDS = 0.6
WALK_TRANSACTIONS = 10
COMPARE_SECONDS = 120
FOREVER = sys.maxsize


def main() -> int:
    """Run so many lives; 1 if one of them found a difference."""
    arguments = _parser().parse_args()
    started = time.monotonic()
    random = Random(arguments.seed)
    directory = Path(tempfile.mkdtemp(prefix="cdb-twin-", dir=arguments.dir))
    path, lived = directory / "twins.sqlite", Counter[str]()
    for number, kind in enumerate(_kinds(arguments)):
        if number % LIVES_A_FILE == 0:
            shutil.rmtree(directory)
            directory.mkdir()
        seed = f"{arguments.seed}:{number}"
        if kind == "walks":
            problem = _walked(path, seed)
        else:
            problem = _killed(path, seed, random.random() * LONGEST_SECONDS)
        if problem:
            _say(f"life {number} of seed {arguments.seed}: {problem}; see {directory}")
            return 1
        lived[kind] += 1
        if number % LIVES_A_FILE == LIVES_A_FILE - 1:
            _say(f"{_said(lived, started)}, no difference")
    if _killed(path, f"{arguments.seed}:last", 0.0):
        _say(f"what seed {arguments.seed} has left differs; see {directory}")
        return 1
    shutil.rmtree(directory)
    _say(f"{_said(lived, started)}: no difference")
    return 0


def _kinds(arguments: argparse.Namespace) -> Iterator[str]:
    """What becomes of each life."""
    if arguments.minutes is None:
        yield from ["kills"] * arguments.kills + ["walks"] * arguments.walks
        return
    end = time.monotonic() + 60 * arguments.minutes
    kinds = cycle(["walks", "kills"])
    while time.monotonic() < end:
        yield next(kinds)


def _said(lived: Counter[str], started: float) -> str:
    numbers = ", ".join(f"{number} {kind}" for kind, number in lived.items())
    return f"{numbers}, {time.monotonic() - started:.0f} s"


def _walked(path: Path, seed: str) -> str | None:
    """Fork a life that ends by itself."""
    walk = partial(live, path, seed, transactions=WALK_TRANSACTIONS)
    return None if exit_code(walk) == 0 else "the stores differ, or failed, in a walk"


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chia.twin", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=0, help="so many lives are killed")
    parser.add_argument("--walks", type=int, default=0, help="so many more walk")
    parser.add_argument("--minutes", type=float, help="instead, go on for so long, with both")
    parser.add_argument("--dir", type=Path, help="where to put the files; default: where others do")
    return parser


def _killed(path: Path, seed: str, seconds: float) -> str | None:
    """Fork a life, wait until it has compared the stores, let it live on, and kill it."""
    readable, writable = os.pipe()
    child = fork(partial(_live, path, seed, writable, goes_on=seconds > 0))
    os.close(writable)
    try:
        with os.fdopen(readable, "rb", buffering=0) as told:
            ready, _, _ = select.select([told], [], [], COMPARE_SECONDS)
            if not ready:
                return f"no comparison within {COMPARE_SECONDS} s"
            word = told.read(1)
            if word != b"=":
                return "the stores differ, or failed" if not word else told.read().decode()
            ended, _, _ = select.select([told], [], [], seconds)
            if ended and seconds:
                return "it failed while it lived"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return None


def _live(path: Path, seed: str, writable: int, *, goes_on: bool) -> None:
    transactions = FOREVER if goes_on else 0
    live(path, seed, lambda: os.write(writable, b"="), transactions=transactions)
    time.sleep(COMPARE_SECONDS if not goes_on else 0)


if __name__ == "__main__":
    sys.exit(main())
