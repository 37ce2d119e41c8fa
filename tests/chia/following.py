"""A node that follows the chain, as trials of power cuts take it (tests/cmds/cuts.py).

It has the twins (tests/chia/lives.py): chia's coin store and cdb's in one SQLite file, so whatever
commit a cut takes SQLite back to, each coin of cdb's has to be what chia's own says. The log is
flushed often, so rows of cdb_ops go, and SQLite makes checkpoints only where the script has one.
"""

import asyncio
import os
import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from threading import Event
from typing import Any

from chia.util.db_wrapper import DBWrapper2

from cdb.node import follower
from cdb.node.follower import Follower
from cdb.node.operation import Effect
from cdb.schemas.coin_log import CoinLogSchema
from cdb.testing.faults.oracle import Progress
from cdb.testing.faults.shim import KILL, Calls, Shim
from tests.chia.lives import Twins, live
from tests.cmds.operations import Operation, Tell
from tests.in_fork import exit_code

KILLED_CALLS = 60, 400
FLUSH_SECONDS = 0.3
"""So long a flush waits for a transaction that is committed beside it, as on a slow disk."""
_FOREVER_PAGES = 1_000_000


class Follow(Operation):
    """A new file, blocks, and some reorgs.

    script: blocks, each a transaction; checkpoints; reorgs that go back by so many heights.
    Random transactions follow. levels: SQLite's synchronous, for even seeds and for odd ones.
    """

    script: Sequence[str | int] = (*["block"] * 4, "checkpoint", "block", "block", 3, "block")
    levels = ("NORMAL", "FULL")
    n_random = 4

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed)
        self.synchronous = self.levels[seed % 2]

    def prepare(self) -> None:
        """Nothing is there before."""

    def do(self, tell: Tell) -> None:
        """Live."""
        self.live(tell, 1)

    def live(self, tell: Tell, first: int) -> None:
        """Live through transactions, which have the numbers from the first one on."""
        follower.FLUSH_OPERATIONS = 1
        flush, done = CoinLogSchema.flush, Event()

        def flush_slowly(log: Any) -> None:
            done.clear()
            done.wait(FLUSH_SECONDS)
            flush(log)

        def say_done(number: int) -> None:
            done.set()
            tell("kept", number)

        CoinLogSchema.flush = flush_slowly  # type: ignore[method-assign]
        asyncio.run(self._live(say_done, first))

    async def _live(self, say_done: Any, first: int) -> None:
        async with DBWrapper2.managed(
            self.file, db_version=2, synchronous=self.synchronous
        ) as wrapper:
            async with wrapper.writer() as connection:
                await connection.execute(f"PRAGMA wal_autocheckpoint = {_FOREVER_PAGES}")
            twins = await Twins.create(wrapper, Random(f"{self.seed}:{first}"))
            for number, step in enumerate((*self.script, *["random"] * self.n_random), first):
                await self._do_step(twins, step)
                async with wrapper.writer() as connection:
                    await connection.execute("CREATE TABLE IF NOT EXISTS done(number INTEGER)")
                    await connection.execute("INSERT INTO done VALUES(?)", (number,))
                say_done(number)
        twins.ours._follower.close()

    async def _do_step(self, twins: Twins, step: str | int) -> None:
        if step == "checkpoint":
            with closing(sqlite3.connect(self.file)) as connection:
                connection.execute("PRAGMA wal_checkpoint").fetchall()
        elif step == "random":
            await twins.transaction(compares=False)
        else:
            async with twins.wrapper.writer():
                await (twins.fork(step) if isinstance(step, int) else twins.block())

    def check(self, progress: Progress) -> None:
        """Both stores have the same coins, of a transaction that is not too old, and go on."""
        if self.synchronous == "FULL" and progress.kept:
            with closing(sqlite3.connect(self.file)) as connection:
                [(newest,)] = connection.execute("SELECT max(number) FROM done")
            assert newest >= progress.kept
        live(self.file, str(self.seed), transactions=1, synchronous=[self.synchronous])


class Reorganize(Follow):
    """Many reorgs, behind checkpoints: what SQLite does from there on is not durable by itself."""

    script = (*["block"] * 4, "checkpoint", 4, "block", "block", "checkpoint", 20, "block")
    levels = ("FULL", "NORMAL")


class Reopen(Reorganize):
    """One process goes on with what another has left: unsynced, where that was killed."""

    n_random = 2

    def do(self, tell: Tell) -> None:
        """Live, end in one of three ways, and live on."""
        code = exit_code(partial(self._first_life, tell))
        assert code in (0, -signal.SIGKILL)
        self.live(tell, 1 + len(self.script) + self.n_random)

    def _first_life(self, tell: Tell) -> None:
        random, way = Random(self.seed), self.seed // 2 % 3
        if way == 0:
            call = random.randint(*KILLED_CALLS)
            Shim().arm(Calls.CHANGE, call, call, KILL)
        elif way == 1:
            kill_before_applying(random.randint(2, 6))
        self.live(tell, 1)


def kill_before_applying(n: int) -> None:
    """Have this process die when it is about to apply to the log what was committed last, for the
    n-th time."""
    times = count(1)
    apply = Follower._apply

    def die(following: Follower, effect: Effect) -> None:
        if next(times) == n:
            os.kill(os.getpid(), signal.SIGKILL)
        apply(following, effect)

    Follower._apply = die  # type: ignore[assignment, method-assign]


OPERATIONS: dict[str, type[Operation]] = {
    "follow": Follow,
    "reorg": Reorganize,
    "reopen": Reopen,
}
