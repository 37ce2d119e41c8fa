"""IndexedConformance notices each way to break the contract of secondary keys."""

import inspect
from pathlib import Path

import pytest

from cdb.schemas.memory import MemorySchema
from cdb.testing import IndexedConformance
from tests.schemas import broken_keys

BROKEN = [
    found
    for found in vars(broken_keys).values()
    if inspect.isclass(found) and found.__module__ == broken_keys.__name__
]
QUICK = (
    "test_coins_come_by_their_blocks_and_then_by_name_each_once",
    "test_a_limit_takes_the_first_of_what_the_filters_leave",
    "test_any_index_may_be_asked_for",
    "test_children_are_found_whatever_became_of_their_parents",
    "test_hashes_that_share_bits_are_not_mixed",
    "test_after_a_rewind_only_the_other_branch_is_found",
    "test_packed_queries_are_answered_like_the_models",
)


def noticed_by(schema: type[MemorySchema], directory: Path) -> str | None:
    """The first test that fails."""
    suite = type("Suite", (IndexedConformance,), {"schema": schema})()
    for name in QUICK:
        try:
            getattr(suite, name)(directory / name)
        except AssertionError:
            return name
    return None


def test_the_model_passes(tmp_path: Path) -> None:
    assert noticed_by(MemorySchema, tmp_path) is None


@pytest.mark.parametrize("schema", BROKEN)
def test_it_is_noticed(schema: type[MemorySchema], tmp_path: Path) -> None:
    assert noticed_by(schema, tmp_path) is not None


def test_a_schema_without_keys_fails_too(tmp_path: Path) -> None:
    suite = type("Suite", (IndexedConformance,), {"schema": "blockchain_v2"})()
    with pytest.raises(AssertionError, match="it offers no IndexedSchema"):
        suite.test_an_empty_database_has_no_coins(tmp_path / "database")
