"""The contract's own test: each way to break what it promises is noticed, and the model passes."""

import inspect
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cdb.errors import CdbError, UnsupportedError
from cdb.schemas.memory import MemorySchema
from cdb.testing import HistoryConformance, IndexedConformance, SchemaConformance
from cdb.testing.read_only import ReadOnlyTests
from tests.broken import history, keys, memory, read_only

OF_KEYS = (
    "test_coins_come_by_their_blocks_and_then_by_name_each_once",
    "test_a_limit_takes_the_first_of_what_the_filters_leave",
    "test_any_index_may_be_asked_for",
    "test_children_are_found_whatever_became_of_their_parents",
    "test_hashes_that_share_bits_are_not_mixed",
    "test_after_a_rewind_only_the_other_branch_is_found",
    "test_packed_queries_are_answered_like_the_models",
)
OF_HISTORY = (
    "test_an_empty_database_has_no_past",
    "test_what_is_no_name_or_no_height_is_an_error_at_the_call",
    "test_coins_that_one_block_confirms_and_spends",
    "test_heights_of_any_width_are_told_apart",
    "test_names_that_are_alike_are_told_apart",
    "test_versions_lead_from_each_state_to_each_later_one",
    "test_as_of_a_height_it_is_a_copy_that_was_rewound",
    "test_history_is_kept_open_reopened_settled_and_read_only",
    "test_many_iterators_are_open_at_once",
    "test_iterators_are_snapshots_of_their_calls",
    "test_a_rewind_takes_versions_away_at_every_height",
)
OF_READ_ONLY = [name for name in vars(ReadOnlyTests) if name.startswith("test_")]
OF_MOMENTS = [name for name in OF_READ_ONLY if "moment" in name]
QUICK: dict[type[Any], Sequence[str]] = {
    IndexedConformance: OF_KEYS,
    HistoryConformance: OF_HISTORY,
    ReadOnlyTests: OF_READ_ONLY,
    SchemaConformance: ["test_heights_are_told_right_up_to_the_limit"],
}
N_READ = (0, 9)
"""So many rows of an iterator are read at a time."""


def suite_of(tests: type[Any], schema: object) -> Any:
    return type("Suite", (tests,), {"schema": schema})()


def broken_promises(tests: type[Any], schema: object, directory: Path) -> Iterator[str]:
    """The tests that fail."""
    for name in QUICK[tests]:
        test = getattr(suite_of(tests, schema), name)
        parameters = inspect.signature(test).parameters
        for n_read in N_READ if "n_read" in parameters else [None]:
            here = directory / f"{name}-{n_read}"
            here.mkdir()
            paths = {"path": here / "database"} if "path" in parameters else {"tmp_path": here}
            try:
                test(**paths, **({} if n_read is None else {"n_read": n_read}))
            except (AssertionError, CdbError, ValueError, pytest.fail.Exception):
                yield name


@pytest.mark.parametrize(
    ("tests", "schema"),
    [
        (IndexedConformance, MemorySchema),
        (HistoryConformance, MemorySchema),
        (ReadOnlyTests, "cdb.building.starter"),
        (SchemaConformance, MemorySchema),
    ],
)
def test_what_is_right_passes(tests: type[Any], schema: object, tmp_path: Path) -> None:
    assert list(broken_promises(tests, schema, tmp_path)) == []


def test_heights_of_31_bits_are_noticed(tmp_path: Path) -> None:
    assert list(broken_promises(SchemaConformance, memory.broken["WrapsHeights"], tmp_path))


@pytest.mark.parametrize("schema", keys.broken.values(), ids=[*keys.broken])
def test_wrong_keys_are_noticed(schema: type[MemorySchema], tmp_path: Path) -> None:
    assert next(broken_promises(IndexedConformance, schema, tmp_path))


@pytest.mark.parametrize("schema", history.broken.values(), ids=[*history.broken])
def test_a_wrong_history_is_noticed(schema: type[MemorySchema], tmp_path: Path) -> None:
    assert next(broken_promises(HistoryConformance, schema, tmp_path))


@pytest.mark.parametrize(
    ("name", "promises"),
    [
        ("follows", OF_MOMENTS),
        ("is_two_moments", OF_MOMENTS),
        ("leaves", ["test_opened_read_only_it_changes_no_byte"]),
        ("takes", ["test_opened_read_only_it_refuses_what_writes"]),
        ("goes", ["test_opened_read_only_it_refuses_what_writes"]),
        ("makes", ["test_opened_read_only_nothing_is_made"]),
    ],
)
def test_a_wrong_reader_is_noticed(name: str, promises: list[str], tmp_path: Path) -> None:
    broken = broken_promises(ReadOnlyTests, f"{read_only.__name__}:{name}", tmp_path)
    assert {*promises} <= {*broken}


def test_a_schema_without_keys_fails_too(tmp_path: Path) -> None:
    suite = suite_of(IndexedConformance, "blockchain_v2")
    with pytest.raises(AssertionError, match="it offers no IndexedSchema"):
        suite.test_an_empty_database_has_no_coins(tmp_path / "database")


def test_a_schema_without_history_fails_too(tmp_path: Path) -> None:
    suite = suite_of(HistoryConformance, "null")
    with pytest.raises(UnsupportedError, match=r"NullSchema keeps no history; .*memory.* do$"):
        suite.test_an_empty_database_has_no_past(tmp_path / "database")


def test_what_can_not_be_opened_only_for_reading_is_skipped(tmp_path: Path) -> None:
    assert len(OF_READ_ONLY) == 6
    suite = suite_of(ReadOnlyTests, "tests.broken.files:Good")
    for name in OF_READ_ONLY:
        with pytest.raises(pytest.skip.Exception):
            getattr(suite, name)(tmp_path / "database")
