"""A plugin of pytest: chia's own tests with another coin store.

    pytest -p tests.chia.swap --coin-store cdb.chia:CoinStore --pyargs chia._tests.…

The class takes the place of chia's in every module of chia's that has it by name, before tests are
collected and after. Tests that can't apply to it are skipped, each with its reason.
"""

import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest
from chia.full_node import coin_store as chia_coin_store

from tests.chia import seeding

THEIRS = chia_coin_store.CoinStore

NOT_APPLICABLE = {
    ("test_coin_store", "test_get_unspent_lineage_info_for_puzzle_hash"): (
        "it writes coins whose names are not their hashes, by SQL"
    ),
    ("test_coin_store", "test_add_coin_records_to_db"): (
        "it tests a helper of chia's that writes SQL, with coins spent before they are confirmed"
    ),
    ("test_coin_store", "test_new_block_tx_additions"): (
        "it looks with SQL for a mark that chia's store keeps, of a child without a parent"
    ),
    ("test_coin_store", "test_rollback_to_block_spent_index_update"): (
        "it writes coins and looks for marks by SQL"
    ),
    ("test_singleton_fast_forward", "test_double_spend_ff_spend_no_latest_unspent"): (
        "it deletes a coin by SQL"
    ),
}
"""test_ports.py has each of these situations, made by blocks."""

LONG_CHAINS = {
    "default_10000_blocks",
    "default_10000_blocks_compact",
    "default_2000_blocks_compact",
    "test_long_reorg_1500_blocks",
    "test_long_reorg_1500_blocks_light",
    "test_long_reorg_blocks",
    "test_long_reorg_blocks_light",
}
"""Fixtures of 2,000 blocks and more, which take minutes to an hour each to be made."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What is tested, and how much of it."""
    group = parser.getgroup("coin store")
    group.addoption("--coin-store", default="cdb.chia:CoinStore", help="MODULE:CLASS")
    group.addoption("--all-modes", action="store_true", help="every consensus mode, not only one")
    group.addoption("--long-chains", action="store_true", help="also tests of very long chains")


def pytest_configure(config: pytest.Config) -> None:
    """Put the class where chia's is, and helpers that go through its methods where SQL is."""
    config.stash[REPLACED] = _replacements(_class_named(config.getoption("--coin-store")))
    importlib.import_module("chia.full_node.full_node_api")
    _replace(config)


def pytest_report_header(config: pytest.Config) -> str:
    """What is tested."""
    return f"coin store: {config.getoption('--coin-store')}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Replace what the test modules have by name; choose and skip."""
    _replace(config)
    modes = _first_modes(items)
    dropped = [item for item in items if not _is_wanted(config, item, modes)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in set(dropped)]
    if config.stash[REPLACED]:
        for item in items:
            reason = NOT_APPLICABLE.get(_place(item))
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def _class_named(name: str) -> type[Any]:
    module, _, attribute = name.partition(":")
    found: type[Any] = getattr(importlib.import_module(module), attribute)
    return found


def _replacements(ours: type[Any]) -> list[tuple[Any, Any]]:
    """What is replaced by what; nothing where the class is chia's own."""
    if ours is THEIRS:
        return []
    helpers = importlib.import_module("chia._tests.util.coin_store")
    simulator = importlib.import_module("chia._tests.util.spend_sim").SpendSim
    simulator.all_non_reward_coins = seeding.all_non_reward_coins
    return [
        (THEIRS, ours),
        (helpers.add_coin_records_to_db, seeding.add_coin_records_to_db),
    ]


REPLACED = pytest.StashKey[list[tuple[Any, Any]]]()


def _replace(config: pytest.Config) -> None:
    for old, new in config.stash[REPLACED]:
        for name, module in [*sys.modules.items()]:
            if name.split(".")[0] == "chia":
                for key in [key for key, value in vars(module).items() if value is old]:
                    setattr(module, key, new)


def _place(item: pytest.Item) -> tuple[str, str]:
    """The module and the function of a test."""
    module = getattr(item, "module", None)
    return getattr(module, "__name__", "").rpartition(".")[2], getattr(item, "originalname", "")


def _mode(item: pytest.Item) -> Any:
    call = getattr(item, "callspec", None)
    return None if call is None else call.params.get("consensus_mode")


def _first_modes(items: list[pytest.Item]) -> dict[tuple[str, str], Any]:
    """The first consensus mode that each test has."""
    modes: dict[tuple[str, str], Any] = {}
    for item in items:
        mode, place = _mode(item), _place(item)
        if mode is not None and (place not in modes or mode < modes[place]):
            modes[place] = mode
    return modes


def _is_wanted(config: pytest.Config, item: pytest.Item, modes: dict[tuple[str, str], Any]) -> bool:
    option: Callable[[str], Any] = config.getoption
    if not option("--long-chains") and LONG_CHAINS.intersection(getattr(item, "fixturenames", ())):
        return False
    mode = _mode(item)
    return mode is None or option("--all-modes") or mode is modes[_place(item)]
