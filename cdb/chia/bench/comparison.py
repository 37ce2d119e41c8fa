"""The experiment of a node's calls: both stores loaded with one chain, and measured in turns."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar

from cdb.bench.campaign import Note
from cdb.bench.case import Case, failure, measure
from cdb.bench.results import STORES, Document, Kind
from cdb.chia.bench.terms import SYNCHRONOUS, Files
from cdb.lab.places import Place
from cdb.lab.process import Limits

BYTES_A_COIN = 1_500
"""Of both stores, with what blocks of the measurements leave in them."""
MORE_BYTES = 2 << 30
_SOURCE = "made: 45 in 100 coins spent, 45 in 100 at 4,096 addresses, 42 in 100 with a hint"


class OfStores:
    """What experiments of a node's coin stores have in common."""

    __slots__ = ()
    contestants: ClassVar = STORES

    @property
    def software(self) -> dict[str, str]:
        """See Experiment."""
        return {"chia_version": version("chia-blockchain")}

    def described(self, contestant: str) -> Document:
        """See Experiment."""
        return {"name": contestant}


@dataclass(frozen=True, slots=True)
class Comparison(OfStores):
    """quick: a tenth of the calls."""

    kind: ClassVar = Kind.NODE
    sources: ClassVar = (_SOURCE,)

    coins: int
    quick: bool

    @property
    def settings(self) -> Document:
        """See Experiment."""
        return asdict(self)

    def data(self, source: str, directory: Path, note: Note) -> "Made":
        """See Experiment: each store makes its chain when it is loaded."""
        return Made(self.coins, self.quick)


@dataclass(frozen=True, slots=True)
class Made:
    """The chain of a comparison."""

    coins: int
    quick: bool

    @property
    def facts(self) -> Document:
        """See Data."""
        return {"data": {"source": _SOURCE, "coins": self.coins, "synchronous": SYNCHRONOUS}}

    @property
    def size_bytes(self) -> int:
        """See Data."""
        return BYTES_A_COIN * self.coins + MORE_BYTES

    def run(
        self, contestant: str, there: Place, before: Sequence[Document], note: Note
    ) -> list[Case]:
        """See Data; the first run in a place loads the store, which stays there."""
        files, limits = (
            Files(contestant, there.directory, self.coins, self.quick),
            Limits(there.join),
        )
        cases: list[Case] = []
        if not files.chain.exists():
            note(f"load {self.coins:,} coins")
            cases += measure("load", files, limits)
        if failure(cases) is None:
            note("calls")
            cases += measure("calls", files, limits)
        return cases
