"""A comparison: both stores loaded with one chain, and measured in turns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from cdb.bench.node_rounds import STORES
from cdb.bench.results import Document
from cdb.bench.rounds import rotated
from cdb.chia.bench import work
from cdb.chia.bench.measuring import Setting, measured, round_of
from cdb.chia.bench.terms import SYNCHRONOUS
from cdb.chia.bench.work import Job
from cdb.lab.places import Place
from cdb.lab.process import Limits, fresh_within

BYTES_A_COIN = 1_500
"""Of both stores, with what blocks of the measurements leave in them."""
MORE_BYTES = 2 << 30
_SOURCE = "made: 45 in 100 coins spent, 45 in 100 at 4,096 addresses, 42 in 100 with a hint"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare, and where. quick: a tenth of the calls."""

    coins: int
    quick: bool
    setting: Setting

    def run(self) -> Document:
        """The document of it. Raises as measured()."""
        chain = {"source": _SOURCE, "coins": self.coins, "synchronous": SYNCHRONOUS}
        size_bytes = BYTES_A_COIN * self.coins + MORE_BYTES
        return measured(self.setting, size_bytes, self._rounds, {"chain": chain})

    def _rounds(self, there: Place) -> Iterator[Document]:
        for run in range(self.setting.runs):
            for store in rotated(STORES, run):
                yield round_of(store, run, partial(self._round, run, store, there))

    def _round(self, run: int, store: str, there: Place) -> list[Any]:
        """The cases of a store; the first round loads it."""
        cases: list[Any] = []
        if run == 0:
            cases += self._made(work.load, store, f"load {self.coins:,} coins", there)
        what = f"round {run + 1} of {self.setting.runs}"
        return cases + self._made(work.measure, store, what, there)

    def _made(
        self, task: Callable[[Job], work.Cases], store: str, what: str, there: Place
    ) -> list[Any]:
        """What a process gives, within the limits of the place."""
        self.setting.note(f"{self.setting.profile.name}, {store}: {what}")
        job: Job = {
            "store": store,
            "directory": str(there.directory),
            "n_coins": self.coins,
            "quick": self.quick,
        }
        return fresh_within(Limits(there.join), task, job)
