"""A node that follows the chain, as trials of power cuts take it (tests/cmds/cuts.py).

It lives as the twins do (tests/chia/lives.py): chia's coin store and cdb's in one SQLite file,
so whatever commit a cut takes SQLite back to, each coin of cdb's has to be what chia's own says.
"""

import os
import signal
from itertools import count
from pathlib import Path
from random import Random
from threading import Event

from cdb.chia.follower import Follower
from cdb.chia.operation import Effect
from cdb.schemas.coin_log import CoinLogSchema
from cdb.testing.faults.oracle import Progress
from cdb.testing.faults.shim import KILL, Calls, Shim
from tests.chia.lives import live, newest_done
from tests.cmds.operations import Operation, Tell
from tests.in_fork import exit_code

TRANSACTIONS = 12
FLUSH_OPERATIONS = 1, 2
CHECKPOINT_PAGES = 40, 120
"""So few that rows of cdb_ops go for good, and so many that later commits are not durable yet."""
KILLED_CALLS = 60, 400
FLUSH_SECONDS = 0.3
"""So long a flush waits for a transaction that is committed beside it, as on a slow disk."""


class Follow(Operation):
    """A new file, blocks, and some reorgs."""

    has_reorgs = False
    levels = ("NORMAL", "FULL")
    """SQLite's synchronous, for even seeds and for odd ones."""

    def __init__(self, root: Path, seed: int) -> None:
        super().__init__(root, seed)
        self.synchronous = self.levels[seed % 2]

    def prepare(self) -> None:
        """Nothing is there before."""

    def do(self, tell: Tell) -> None:
        """Live."""
        self.live(tell)

    def live(self, tell: Tell, first: int = 1) -> None:
        """Live through transactions, of which the first one has this number."""
        flush, done = CoinLogSchema.flush, Event()

        def flush_slowly(log: CoinLogSchema) -> None:
            done.clear()
            done.wait(FLUSH_SECONDS)
            flush(log)

        def say_done(number: int) -> None:
            done.set()
            tell("kept", number)

        CoinLogSchema.flush = flush_slowly  # type: ignore[method-assign]
        live(
            self.file,
            f"{self.seed}:{first}",
            transactions=TRANSACTIONS,
            synchronous=[self.synchronous],
            say_done=say_done,
            first=first,
            compares=False,
            has_reorgs=self.has_reorgs,
            flush_operations=FLUSH_OPERATIONS,
            checkpoint_pages=CHECKPOINT_PAGES,
        )

    def check(self, progress: Progress) -> None:
        """Both stores have the same coins, of a transaction that is not too old, and go on."""
        if self.synchronous == "FULL":
            assert not progress.kept or newest_done(self.file) >= progress.kept
        live(self.file, str(self.seed), transactions=1, synchronous=[self.synchronous])


class Reorganize(Follow):
    """The same, and half of all steps are reorgs."""

    has_reorgs = True
    levels = ("FULL", "NORMAL")


class Reopen(Reorganize):
    """The first process is killed, and another one goes on with what that has left unsynced."""

    def do(self, tell: Tell) -> None:
        """Live, be killed, and live on."""
        random = Random(self.seed)

        def live_until_killed() -> None:
            if self.seed % 4 > 1:
                kill_before_applying(random.randint(2, TRANSACTIONS // 2))
            else:
                call = random.randint(*KILLED_CALLS)
                Shim().arm(Calls.CHANGE, call, call, KILL)
            self.live(tell)

        exit_code(live_until_killed)  # the end may come before
        self.live(tell, first=TRANSACTIONS + 1)


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
