"""Backups beside a node that writes: each is one of its states, after kill -9 of either.

    python -m tests.chia.backups --seed 1 --times 100

A process lives the life of the twins (tests/chia/lives.py): chia's coin store and cdb's in one
SQLite file, with reorgs, and transactions that fail; now and then it is killed, and another goes
on. Beside it backups are made, slowed down at random, and some of them are killed. Each that is
whole is restored, which may be killed too, and then opened: every coin, state, lineage and page of
cdb's store must be what chia's own says in the very same file, and no older than the backup's
beginning.
"""

import argparse
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from random import Random

from cdb.contract.progress import Progress, no_bar
from cdb.node.backup import making as backup
from cdb.node.backup.making import back_up
from cdb.node.backup.restore import READY, WORK_SUFFIX, restore
from cdb.node.status import status_of
from cdb.process.children import exit_code_of, fork
from tests.chia.lives import live
from tests.in_fork import exit_code

FOREVER = sys.maxsize
BACKUPS_A_FILE = 20
SETTLE_SECONDS = 0.4
STATUSES = 5
FILE = "twins.sqlite"


def main() -> int:
    """Make so many backups; 1 if one of them is wrong."""
    arguments = _parser().parse_args()
    started = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="cdb-backups-", dir=arguments.dir))
    whole = killed = 0
    for first in range(0, arguments.times, BACKUPS_A_FILE):
        seed = f"{arguments.seed}:{first}"
        shutil.rmtree(directory)
        directory.mkdir()
        n_whole, n_killed = trial(directory, seed, min(BACKUPS_A_FILE, arguments.times - first))
        whole, killed = whole + n_whole, killed + n_killed
    shutil.rmtree(directory)
    seconds = time.monotonic() - started
    _say(f"{whole} backups and {killed} killed, {seconds:.0f} s: no difference")
    return 0


def trial(directory: Path, seed: str, times: int) -> tuple[int, int]:
    """Make backups of one file; how many were whole and how many were killed."""
    random, file = Random(seed), directory / FILE
    whole = killed = 0
    writer = Writer(file, seed)
    try:
        for number in range(times):
            if random.random() < 0.25:
                writer.kill()
                if random.random() < 0.7:
                    writer = Writer(file, f"{seed}:{number}")
            newest = _newest(file)
            for _ in range(STATUSES):
                problems = status_of(file).problems
                assert problems == [], (seed, number, problems)
            target = directory / "backup"
            pauses = f"{seed}:{number}"
            limit_seconds = random.random() * 0.5 if random.random() < 0.4 else None
            if _killed(partial(_back_up, file, target, pauses), limit_seconds):
                killed += 1
                if not target.exists():
                    assert exit_code(partial(_back_up, file, target, pauses)) == 0, (seed, number)
            assert not target.with_name("backup.partial").exists(), (seed, number)
            whole += 1
            _check(target, directory / "restored.sqlite", newest, random, f"{seed}:{number}")
            shutil.rmtree(target)
    finally:
        writer.kill()
    return whole, killed


class Writer:
    """A process that writes until it is killed."""

    def __init__(self, file: Path, seed: str) -> None:
        readable, writable = os.pipe()
        say = partial(os.write, writable, b"=")
        self._process = fork(partial(live, file, seed, say, transactions=FOREVER))
        os.close(writable)
        with os.fdopen(readable, "rb", buffering=0) as told:
            assert told.read(1) == b"=", f"the stores of {seed} differ, or failed"
        time.sleep(SETTLE_SECONDS)

    def kill(self) -> None:
        """End it, unless that is done; it must not have failed before."""
        process, self._process = self._process, 0
        if process:
            os.kill(process, signal.SIGKILL)
            assert exit_code_of(process) == -signal.SIGKILL, "the writer failed"


def _back_up(file: Path, target: Path, seed: str) -> None:
    """Make a backup that takes its time, so that much happens meanwhile."""
    random = Random(seed)
    backup._PAGES_A_STEP = random.choice([1, 3, 20, 4096])

    @contextmanager
    def slowly(what: str, total: int | None = None, unit: str = " coins") -> Iterator[Progress]:
        time.sleep(random.random() * 0.3)
        yield lambda more: time.sleep(random.random() * 0.003)
        time.sleep(random.random() * 0.3)

    back_up(file, target, slowly)


def _check(target: Path, restored: Path, newest: int, random: Random, seed: str) -> None:
    """Restore a backup, in the place of the one before, and compare the stores that it holds."""
    limit_seconds = random.random() * 0.3 if random.random() < 0.4 else None
    for left in restored.parent.glob(f"{restored.name}*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    put_back = partial(restore, target, restored, no_bar)
    if _killed(put_back, limit_seconds):
        ready = restored.with_name(restored.name + WORK_SUFFIX) / READY
        if not restored.exists() or ready.exists():
            assert exit_code(put_back) == 0, seed
    assert _newest(restored) >= newest, f"backup {seed} is older than its beginning"
    status = status_of(restored)
    assert status.problems == [], (seed, status)
    assert exit_code(partial(live, restored, seed, transactions=1)) == 0, f"backup {seed} differs"


def _newest(file: Path) -> int:
    """The number of the newest operation that is committed."""
    with closing(sqlite3.connect(file)) as connection:
        [(number,)] = connection.execute("SELECT max(number) FROM cdb_ops")
        return int(number)


def _killed(work: Callable[[], object], limit_seconds: float | None) -> bool:
    """Do work in a process, and kill that after a time; whether it was killed."""
    process = fork(work)
    if limit_seconds is not None:
        time.sleep(limit_seconds)
        os.kill(process, signal.SIGKILL)
    code = exit_code_of(process)
    assert code in ((0,) if limit_seconds is None else (0, -signal.SIGKILL)), code
    return code != 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chia.backups", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--dir", type=Path, help="where to put the files; default: where others do")
    return parser


if __name__ == "__main__":
    sys.exit(main())
