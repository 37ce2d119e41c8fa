"""HistoryConformance notices each way to break the contract of history."""

import inspect
from pathlib import Path

import pytest

from cdb.errors import CdbError, UnsupportedError
from cdb.schemas.memory import MemorySchema
from cdb.testing import HistoryConformance
from tests.schemas import broken_history

BROKEN = [
    found
    for name, found in vars(broken_history).items()
    if inspect.isclass(found)
    and found.__module__ == broken_history.__name__
    and not name.startswith("_")
]
QUICK = (
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
READ = (0, 9)
"""So many rows of an iterator are read at a time."""


def noticed_by(schema: type[MemorySchema], directory: Path) -> str | None:
    """The first test that fails."""
    suite = type("Suite", (HistoryConformance,), {"schema": schema})()
    for name in QUICK:
        test = getattr(suite, name)
        parameters = inspect.signature(test).parameters
        for n_read in READ if "n_read" in parameters else [None]:
            here = directory / f"{name}-{n_read}"
            here.mkdir()
            paths = {"path": here / "database"} if "path" in parameters else {"tmp_path": here}
            try:
                test(**paths, **({} if n_read is None else {"n_read": n_read}))
            except (AssertionError, CdbError, ValueError, pytest.fail.Exception):
                return name
    return None


def test_the_model_passes(tmp_path: Path) -> None:
    assert noticed_by(MemorySchema, tmp_path) is None


@pytest.mark.parametrize("schema", BROKEN)
def test_it_is_noticed(schema: type[MemorySchema], tmp_path: Path) -> None:
    assert noticed_by(schema, tmp_path) is not None


def test_a_schema_without_history_fails_too(tmp_path: Path) -> None:
    suite = type("Suite", (HistoryConformance,), {"schema": "null"})()
    with pytest.raises(UnsupportedError, match=r"NullSchema keeps no history; .*memory.* do$"):
        suite.test_an_empty_database_has_no_past(tmp_path / "database")
