"""bench engines: what makes a case wrong or a failure, and the numbers of its shapes."""

from pathlib import Path
from typing import Any

import pytest

from cdb.bench import layouts
from cdb.bench.case import Case, measure_here
from cdb.bench.layouts import SHAPES, needed_bytes, quick_shape
from cdb.bench.versioned import read, write
from cdb.bench.versioned.database import NATIVE_ENGINES, Checked, Files, Shape, missing
from cdb.lab.places import Place
from cdb.lab.process import WorkloadError

RIGHT = Checked(right=488, wrong=0, key=0, right_version=0, found_version=0)
WRONG = Checked(right=1, wrong=2, key=7, right_version=3, found_version=4)
TINY = Shape(keys=20, versions=5, value_bytes=8, period_bytes=0, rewritten_per_million=500_000)


@pytest.mark.parametrize(
    ("checked", "rows", "problem"),
    [
        ([RIGHT, RIGHT], 976, None),
        ([RIGHT], 10_000, "9,512 of 10,000 rows are missing"),
        (
            [RIGHT, WRONG],
            491,
            "2 of 491 answers are wrong: key 7 gives version 4 instead of version 3",
        ),
        (
            [WRONG._replace(right_version=0)],
            3,
            "2 of 3 answers are wrong: a key that is not there gives version 4",
        ),
        (
            [WRONG._replace(found_version=2**32 - 1)],
            3,
            "2 of 3 answers are wrong: key 7 gives what no version of it has been instead of "
            "version 3",
        ),
    ],
)
def test_a_wrong_or_missing_answer_is_a_problem(
    checked: list[Checked], rows: int, problem: str | None
) -> None:
    assert read._problem(checked, rows) == problem


def test_shapes_are_those_that_were_published() -> None:
    canopy = SHAPES["canopy-100k"]
    assert (canopy.keys, canopy.versions, canopy.value_bytes) == (100_000, 50, 1_024)
    assert (canopy.rewritten_per_million, canopy.period_bytes) == (50_000, 32)
    assert SHAPES["canopy-100k-random"] == canopy._replace(period_bytes=0)
    assert SHAPES["option-1"][:2] == (200_000, 4)
    assert quick_shape(canopy).keys == 10_000
    # Two rows of 1 kB of 345,000 versions, in a tree of half full pages.
    assert 1.4e9 < needed_bytes(canopy) < 4e9


def measured(contestant: str, directory: Path) -> tuple[list[Case], list[str]]:
    """The cases of a run over a tiny shape, and what it says."""
    notes: list[str] = []
    made = layouts.experiment([contestant], {"tiny": TINY})
    data = made.sources["tiny"](directory, notes.append)
    return data.run(contestant, Place(directory, (), None), [], notes.append), notes


def test_what_keeps_no_versions_is_not_measured_with_the_reason(tmp_path: Path) -> None:
    (case,), _ = measured("interval@rocksdb", tmp_path)
    assert (case.workload, case.outcome) == ("write", "not_measured")
    assert "more than two versions" in str(case.reason)


@pytest.mark.parametrize("counted", ["syncs", "device_flushes"])
@pytest.mark.parametrize("engine", NATIVE_ENGINES)
def test_commits_that_ask_for_too_few_syncs_fail(
    engine: str, counted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing(engine) is not None:
        pytest.skip(f"{engine} is missing")

    class Unsynced:
        def __init__(self, directory: Path) -> None:
            pass

        def figures(self) -> dict[str, Any]:
            return {"syncs": None, "device_flushes": None, counted: TINY.versions - 1}

    files = Files("option_1", engine, str(tmp_path), TINY)
    monkeypatch.setattr(write, "Usage", Unsynced)
    with pytest.raises(WorkloadError, match=f"{counted} of 5 commits: 4, so not durable"):
        measure_here("write", files)
    monkeypatch.undo()
    for workload in ("read", "settle"):
        assert {case.outcome for case in measure_here(workload, files)} == {"measured"}


def test_a_failure_ends_a_round(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def failing(workload: str, *arguments: Any) -> list[Case]:
        return [Case(workload, outcome="failed", reason="the disk is full")]

    monkeypatch.setattr(layouts, "measure", failing)
    monkeypatch.setattr(layouts, "missing", lambda engine: None)
    cases, notes = measured("mono_space@rocksdb", tmp_path)
    assert cases == failing("write")
    assert notes == ["write"]
    assert not [*tmp_path.iterdir()]
