"""Every schema of cdb's own keeps the contract, and its small twin, where it has one.

There most names are in the index behind a tiny memtable, and runs are merged. What makes databases
with secondary keys keeps the contract of these, too, and what keeps history all of that.
"""

from functools import partial
from pathlib import Path

import pytest

from cdb.schemas import find_schema
from cdb.schemas.coin_log import coin_log
from cdb.schemas.registry import OWN_SCHEMAS, names_at_paths
from cdb.schemas.rocks_kv import KIND
from cdb.stores.coin_log.binding import Sizes
from cdb.stores.coin_set.schema import open_coin_set
from cdb.stores.coin_set.spec import SMALL_SIZES
from cdb.testing import HistoryConformance, IndexedConformance, SchemaConformance
from cdb.testing.machine import ContractMachine, run_machine
from tests.conftest import ROWS_WITH_INDEX, index_factories
from tests.engines import SCHEMAS


@pytest.mark.long
class TestBlockchainV2WithTheNodesIndexes(SchemaConformance):
    schema = "blockchain_v2:NODE"
    many_names = 5_000


class TestCoinLogIndexedSmall(IndexedConformance):
    """Most keys are in runs, which are merged; and other keys often have their bits."""

    schema = partial(
        coin_log,
        index="puzzle_hash",
        sizes=Sizes(memtable_coins=20, merge_runs=3, name_bits=11, recent_bits=2),
    )
    many = 10_000


@pytest.mark.skipif(KIND.engine.missing() is not None, reason=str(KIND.engine.missing()))
class TestRocksKvIndexedSmall(IndexedConformance):
    """Keys are in memory, in batches and in runs; and other keys often have their bits."""

    schema = partial(open_coin_set, KIND, **SMALL_SIZES, index="puzzle_hash", name_bits=7)
    many = 10_000


LEFT_TO_LONG_TESTS = {*index_factories(), *(f"{name}_small" for name in index_factories())} - {
    f"{ROWS_WITH_INDEX}_small"
}
"""They share a store, for which that one stands."""
LEFT_TO_LONG_TESTS |= {f"{name}_indexed" for name in ("coin_log", *SCHEMAS)}
"""The small twins above come to more of what keys are made of."""
LEFT_TO_LONG_TESTS |= {*SCHEMAS, "offset_log"}
"""Their own small twins come to more commits and runs."""
LEFT_TO_LONG_TESTS |= {"memory_indexed"}
"""The model: all others are compared with it, and test_broken holds it to most of this."""
SHORT_EXAMPLES, SHORT_STEPS = 3, 20


@pytest.mark.parametrize("name", sorted(LEFT_TO_LONG_TESTS & {*OWN_SCHEMAS}))
def test_a_short_life_is_the_models(name: str, tmp_path: Path) -> None:
    """Of those whose whole contract is left to long tests."""
    found = find_schema(name)
    if found.missing is not None:
        pytest.skip(found.missing)
    run_machine(ContractMachine, found.open, tmp_path, examples=SHORT_EXAMPLES, steps=SHORT_STEPS)


def _is_held_to(suite: type, name: str, spec: str) -> None:
    tests = type(f"Test_{name}", (suite,), {"schema": spec})
    is_long = name.removesuffix("_history") in LEFT_TO_LONG_TESTS
    globals()[f"Test_{name}"] = pytest.mark.long(tests) if is_long else tests


for _name in names_at_paths(OWN_SCHEMAS):  # of the others: tests/cassandra
    _found = find_schema(_name)
    if _found.spec.keeps_contract:
        _is_held_to(SchemaConformance, _name, _name)
        if _found.small is not None:
            small = f"{_name}_small"
            _is_held_to(SchemaConformance, small, _found.small)
    if _found.spec.history is not None:
        _is_held_to(HistoryConformance, f"{_name}_history", _name)
        if _found.small is not None:
            _is_held_to(HistoryConformance, f"{_name}_small_history", _found.small)
    if _found.indexed is not None:
        _is_held_to(IndexedConformance, f"{_name}_indexed", _found.indexed)
