"""What counts, of all that any writer has ever written: the state of a chain.

A run is what one writer wrote between an opening, or a rewind, and the next one. Each row says of
which run it is, and of which block. It counts where the run owns the block's index, and where that
is not above the newest block. So a rewind is a new state: rows above it are owned by another run
from then on. And so are those of a writer that goes on after another one took over.

Runs have random numbers. Counted, two who open at once would make the same state, and each would
take it for its own; and behind a state that was restored from a backup, the next run would have the
number of one that was begun since, whose rows may be there.
"""

import secrets
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from struct import Struct

_RUN = Struct(">QQ")
NO_PEAK = -1
_RUNS = (1 << 63) - 1
"""As many as a bigint of CQL can tell apart; 0 is no writer's."""


@dataclass(frozen=True, slots=True)
class View:
    """Which rows count: those of blocks up to an index, each of the run that owns it.

    firsts: from which index on the run at the same place owns what the next one does not.
    """

    newest: int = NO_PEAK
    firsts: tuple[int, ...] = ()
    runs: tuple[int, ...] = ()

    def has(self, block_index: int, run: int) -> bool:
        """Whether a run's row of the block at this index counts."""
        if block_index > self.newest:
            return False
        return self.runs[bisect_right(self.firsts, block_index) - 1] == run

    def as_of(self, height: int) -> "View":
        """The view that those have who look at a height."""
        return self if height >= self.newest else replace(self, newest=height)

    def owned_above(self, block_index: int, run: int) -> "View":
        """The same up to an index; another run owns all above it."""
        kept = sum(first <= block_index for first in self.firsts)
        firsts, runs = (*self.firsts[:kept], block_index + 1), (*self.runs[:kept], run)
        return View(block_index, firsts, runs)

    def packed_runs(self) -> bytes:
        """The runs, as unpacked_runs() takes them."""
        return b"".join(map(_RUN.pack, self.firsts, self.runs))


def view_of(newest: int, packed_runs: bytes) -> View:
    """The view with these runs. Raises ValueError for bytes that are none."""
    if len(packed_runs) % _RUN.size:
        raise ValueError("runs are cut short")
    firsts, runs = tuple(zip(*_RUN.iter_unpack(packed_runs), strict=True)) or ((), ())
    view = View(newest, firsts, runs)
    if newest != NO_PEAK and (not firsts or firsts[0]):
        raise ValueError("nobody owns the first block")
    return view


@dataclass(frozen=True, slots=True)
class State:
    """A chain's one row that changes.

    chain: 8 bytes, which begin all keys of its rows. keys: what secondary keys it has, as
    cdb.contract.secondary_keys names them; or "". run: the writer's. blocks, coins: how many count.
    """

    chain: bytes
    keys: str = ""
    run: int = 0
    blocks: int = 0
    coins: int = 0
    view: View = field(default_factory=View)

    @property
    def newest_index(self) -> int | None:
        """The index of the newest block; None without one."""
        return self.view.newest if self.blocks else None

    def taken_over(self) -> "State":
        """The same, of a writer that begins: another run owns what comes."""
        return self.cut(self.blocks, self.coins, self.view.newest)

    def cut(self, blocks: int, coins: int, newest: int) -> "State":
        """The first so many blocks and coins; the newest one left has this index."""
        run = 1 + secrets.randbelow(_RUNS)
        view = self.view.owned_above(newest, run)
        return replace(self, run=run, blocks=blocks, coins=coins, view=view)

    def grown(self, indices: Sequence[int], coins: int) -> "State":
        """The state with more blocks, with so many coins in all."""
        view = replace(self.view, newest=indices[-1])
        blocks, coins = self.blocks + len(indices), self.coins + coins
        return replace(self, blocks=blocks, coins=coins, view=view)

    def with_keys(self, keys: str) -> "State":
        """The same with secondary keys."""
        return replace(self, keys=keys)
