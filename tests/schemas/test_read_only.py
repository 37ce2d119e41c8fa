"""The contract's tests notice each way to break what openings with read_only promise."""

from pathlib import Path

import pytest

from cdb.errors import CdbError
from cdb.testing.read_only import ReadOnlyTests
from tests.schemas import broken_read_only

PROMISES = [name for name in vars(ReadOnlyTests) if name.startswith("test_")]
MOMENT = [name for name in PROMISES if "moment" in name]


def broken_by(schema: str, directory: Path) -> list[str]:
    """The promises that a schema breaks."""
    suite = type("Suite", (ReadOnlyTests,), {"schema": schema})()
    broken = []
    for name in PROMISES:
        (directory / name).mkdir()
        try:
            getattr(suite, name)(directory / name / "database")
        except (AssertionError, CdbError, pytest.fail.Exception):
            broken.append(name)
    return broken


def test_the_starter_breaks_none(tmp_path: Path) -> None:
    assert len(PROMISES) == 6
    assert broken_by("cdb.building.starter", tmp_path) == []


@pytest.mark.parametrize(
    ("name", "promises"),
    [
        ("follows", MOMENT),
        ("is_two_moments", MOMENT),
        ("leaves", ["test_opened_read_only_it_changes_no_byte"]),
        ("takes", ["test_opened_read_only_it_refuses_what_writes"]),
        ("goes", ["test_opened_read_only_it_refuses_what_writes"]),
        ("makes", ["test_opened_read_only_nothing_is_made"]),
    ],
)
def test_a_broken_promise_is_noticed(name: str, promises: list[str], tmp_path: Path) -> None:
    broken = broken_by(f"{broken_read_only.__name__}:{name}", tmp_path)
    assert {*promises} <= {*broken}


def test_what_can_not_be_opened_so_is_skipped(tmp_path: Path) -> None:
    suite = type("Suite", (ReadOnlyTests,), {"schema": "tests.faults.broken:Good"})()
    for name in PROMISES:
        with pytest.raises(pytest.skip.Exception):
            getattr(suite, name)(tmp_path / "database")
