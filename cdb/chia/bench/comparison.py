"""The experiment of a node's calls: both stores loaded with one chain, and measured in turns."""

from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path

from cdb.bench.campaign import Data, Experiment, Note
from cdb.bench.case import Case, failure, measure
from cdb.bench.results import STORES, Document, Kind
from cdb.chia.bench.terms import SYNCHRONOUS, Files
from cdb.lab.places import Place
from cdb.lab.process import Limits

BYTES_A_COIN = 1_500
"""Of both stores, with what blocks of the measurements leave in them."""
MORE_BYTES = 2 << 30
_SOURCE = "made: 45 in 100 coins spent, 45 in 100 at 4,096 addresses, 42 in 100 with a hint"


def of_stores(
    kind: Kind, source: str, data: Callable[[Path, Note], Data], settings: Document
) -> Experiment:
    """Of both of a node's coin stores, over one set of data."""
    contestants: dict[str, Document] = {name: {} for name in STORES}
    software = {"chia_version": version("chia-blockchain")}
    return Experiment(kind, contestants, {source: data}, settings, software)


def experiment(coins: int, *, quick: bool) -> Experiment:
    """quick: a tenth of the calls."""
    settings = {"coins": coins, "quick": quick}
    return of_stores(Kind.NODE, _SOURCE, partial(_data, coins, quick), settings)


def _data(coins: int, quick: bool, directory: Path, note: Note) -> Data:
    """Each store makes its chain when it is loaded."""
    facts = {"data": {"source": _SOURCE, "coins": coins, "synchronous": SYNCHRONOUS}}
    return Data(facts, BYTES_A_COIN * coins + MORE_BYTES, partial(_run, coins, quick))


def _run(
    coins: int, quick: bool, store: str, there: Place, before: Sequence[Document], note: Note
) -> list[Case]:
    """The first run in a place loads the store, which stays there."""
    files, limits = Files(store, there.directory, coins, quick), Limits(there.join)
    cases: list[Case] = []
    if not files.chain.exists():
        note(f"load {coins:,} coins")
        cases += measure("load", files, limits)
    if failure(cases) is None:
        note("calls")
        cases += measure("calls", files, limits)
    return cases
