"""A node that follows the chain, as trials of power cuts take it (tests/cmds/cuts.py).

It lives as the twins do (tests/chia/lives.py): chia's coin store and cdb's in one SQLite file,
so whatever commit a cut takes SQLite back to, each coin of cdb's has to be what chia's own says.
"""

import time
from pathlib import Path
from random import Random

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
FLUSH_SECONDS = 0.02
"""So long a disk takes for a flush that other threads go on beside it."""


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
        flush = CoinLogSchema.flush

        def flush_slowly(log: CoinLogSchema) -> None:
            time.sleep(FLUSH_SECONDS)
            flush(log)

        CoinLogSchema.flush = flush_slowly  # type: ignore[method-assign]
        live(
            self.file,
            f"{self.seed}:{first}",
            transactions=TRANSACTIONS,
            synchronous=[self.synchronous],
            say_done=lambda number: tell("kept", number),
            first=first,
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
        call = Random(self.seed).randint(*KILLED_CALLS)

        def live_until_killed() -> None:
            Shim().arm(Calls.CHANGE, call, call, KILL)
            self.live(tell)

        exit_code(live_until_killed)  # the end may come before that call
        self.live(tell, first=TRANSACTIONS + 1)


OPERATIONS: dict[str, type[Operation]] = {
    "follow": Follow,
    "reorg": Reorganize,
    "reopen": Reopen,
}
