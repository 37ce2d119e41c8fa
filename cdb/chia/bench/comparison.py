"""A comparison: both stores loaded with one chain, and measured in turns."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import perf_counter
from typing import Any

from cdb.bench.document import described
from cdb.bench.machine import load_average
from cdb.bench.matrix import timestamp
from cdb.bench.node_rounds import STORES, differing_answers
from cdb.bench.process import Limits, WrongAnswerError, fresh_within
from cdb.bench.profiles import Place, Profile, place
from cdb.bench.results import NODE, VERSION, Document
from cdb.bench.rounds import Note, rotated
from cdb.chia.bench import work
from cdb.chia.bench.work import Job

BYTES_A_COIN = 1_500
"""Of both stores, with what blocks of the measurements leave in them."""
MORE_BYTES = 2 << 30
_SOURCE = "made: 45 in 100 coins spent, 45 in 100 at 4,096 addresses, 42 in 100 with a hint"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What to compare, and where. command: what measures the same again."""

    coins: int
    runs: int
    profile: Profile
    quick: bool
    parent: Path
    machine: str | None
    command: str
    note: Note

    def run(self) -> Document:
        """The document of it. Raises NotMeasuredError where the profile can't be had, and
        WorkloadError where a store fails, or the two don't answer the same.
        """
        begun, start = timestamp(), perf_counter()
        with place(self.profile, self.parent, BYTES_A_COIN * self.coins + MORE_BYTES) as there:
            facts = described(self.profile, there, self.machine)
            rounds = [each for run in range(self.runs) for each in self._rounds(run, there)]
        problem = differing_answers(rounds)
        if problem is not None:
            raise WrongAnswerError(problem)
        facts["software"]["chia_version"] = version("chia-blockchain")
        return {
            "kind": NODE,
            "version": VERSION,
            "command": self.command,
            "runs": self.runs,
            "begun": begun,
            "seconds": perf_counter() - start,
            **facts,
            "chain": {"source": _SOURCE, "coins": self.coins, "synchronous": work.SYNCHRONOUS},
            "rounds": rounds,
        }

    def _rounds(self, run: int, there: Place) -> Iterator[Document]:
        """One of each store; the first loads it."""
        for store in rotated(STORES, run):
            before, cases = load_average(), list[Document]()
            if run == 0:
                cases += self._made(work.load, store, f"load {self.coins:,} coins", there)
            cases += self._made(work.measure, store, f"round {run + 1} of {self.runs}", there)
            yield {
                "store": store,
                "run": run + 1,
                "load_average_before": before,
                "load_average_after": load_average(),
                "cases": cases,
            }

    def _made(
        self, task: Callable[[Job], work.Cases], store: str, what: str, there: Place
    ) -> list[Any]:
        """What a process gives, within the limits of the place."""
        self.note(f"{self.profile.name}, {store}: {what}")
        job: Job = {
            "store": store,
            "directory": str(there.directory),
            "n_coins": self.coins,
            "quick": self.quick,
        }
        return fresh_within(Limits(there.join), task, job).cases
