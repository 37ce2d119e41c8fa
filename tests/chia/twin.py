"""chia's coin store and cdb's in one SQLite file: the same blocks, the same answers, after kill -9.

    python -m tests.chia.twin --seed 1 --kills 100

Each life of the pair is a process. It compares the two as it finds them, and then goes on with
random transactions (tests/chia/lives.py) until it is killed, at a random moment. Whatever differs,
or fails, ends the test with the seed and the number of the life.
"""

import argparse
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from random import Random

from tests.chia.lives import live
from tests.in_fork import forked

LIVES_A_FILE = 25
LONGEST_SECONDS = 0.6
COMPARE_SECONDS = 120
FOREVER = sys.maxsize


def main() -> int:
    """Run so many lives; 1 if one of them found a difference."""
    arguments = _parser().parse_args()
    started = time.monotonic()
    random = Random(arguments.seed)
    directory = Path(tempfile.mkdtemp(prefix="cdb-twin-", dir=arguments.dir))
    for number in range(arguments.kills + 1):
        if number % LIVES_A_FILE == 0:
            shutil.rmtree(directory)
            directory.mkdir()
        is_last = number == arguments.kills
        seconds = 0.0 if is_last else random.random() * LONGEST_SECONDS
        problem = _one_life(directory / "twins.sqlite", f"{arguments.seed}:{number}", seconds)
        if problem:
            _say(f"life {number} of seed {arguments.seed}: {problem}; see {directory}")
            return 1
        if number % LIVES_A_FILE == LIVES_A_FILE - 1:
            took = time.monotonic() - started
            _say(f"{number + 1} kills, {took:.0f} s, no difference")
    shutil.rmtree(directory)
    _say(f"{arguments.kills} kills, {time.monotonic() - started:.0f} s: no difference")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chia.twin", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--dir", type=Path, help="where to put the files; default: where others do")
    return parser


def _one_life(path: Path, seed: str, seconds: float) -> str | None:
    """Fork a life, wait until it has compared the stores, let it live on, and kill it."""
    readable, writable = os.pipe()
    child = forked(partial(_live, path, seed, writable, goes_on=seconds > 0))
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
