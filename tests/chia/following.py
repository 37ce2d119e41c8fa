"""A node that follows the chain, as trials of power cuts take it (tests/cmds/cuts.py).

It lives as the twins do (tests/chia/lives.py): chia's coin store and cdb's in one SQLite file,
so whatever commit a cut takes SQLite back to, each coin of cdb's has to be what chia's own says.
"""

import time
from pathlib import Path

from cdb.schemas.coin_log import CoinLogSchema
from cdb.testing.faults.oracle import Progress
from tests.chia.lives import live, newest_done
from tests.cmds.operations import Operation, Tell

TRANSACTIONS = 12
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
        flush = CoinLogSchema.flush

        def flush_slowly(log: CoinLogSchema) -> None:
            time.sleep(FLUSH_SECONDS)
            flush(log)

        CoinLogSchema.flush = flush_slowly  # type: ignore[method-assign]
        live(
            self.file,
            str(self.seed),
            transactions=TRANSACTIONS,
            synchronous=[self.synchronous],
            say_done=lambda number: tell("kept", number),
            has_reorgs=self.has_reorgs,
        )

    def check(self, progress: Progress) -> None:
        """Both stores have the same coins, of a transaction that is not too old, and go on."""
        if self.synchronous == "FULL":
            assert newest_done(self.file) >= progress.kept if progress.kept else True
        live(self.file, str(self.seed), transactions=1, synchronous=[self.synchronous])


class Reorganize(Follow):
    """The same, and half of all steps are reorgs."""

    has_reorgs = True
    levels = ("FULL", "NORMAL")


OPERATIONS: dict[str, type[Operation]] = {"follow": Follow, "reorg": Reorganize}
