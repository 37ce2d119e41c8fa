"""bench engines: what makes a case wrong or a failure, and the numbers of its shapes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cdb.bench import engines
from cdb.bench.engines import SHAPES, Contestant, needed_bytes, quick_shape
from cdb.bench.versioned import NATIVE_ENGINES, Checked, Shape, missing
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
    assert engines._problem(checked, rows) == problem


def test_shapes_are_those_that_were_published() -> None:
    canopy = SHAPES["canopy-100k"]
    assert (canopy.keys, canopy.versions, canopy.value_bytes) == (100_000, 50, 1_024)
    assert (canopy.rewritten_per_million, canopy.period_bytes) == (50_000, 32)
    assert SHAPES["canopy-100k-random"] == canopy._replace(period_bytes=0)
    assert SHAPES["option-1"][:2] == (200_000, 4)
    assert quick_shape(canopy).keys == 10_000
    # Two rows of 1 kB of 345,000 versions, in a tree of half full pages.
    assert 1.4e9 < needed_bytes(canopy) < 4e9


def test_what_keeps_no_versions_is_not_measured_with_the_reason() -> None:
    reason = Contestant("interval", "rocksdb").hindrance()
    assert reason is not None
    assert "more than two versions" in reason


@pytest.mark.parametrize("engine", NATIVE_ENGINES)
def test_commits_that_ask_for_too_few_syncs_fail(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if missing(engine) is not None:
        pytest.skip(f"{engine} is missing")

    class Unsynced:
        def __init__(self, directory: Path) -> None:
            pass

        def figures(self) -> dict[str, Any]:
            return {"syncs": TINY.versions - 1}

    job = {"layout": "option_1", "engine": engine, "path": str(tmp_path), "shape": list(TINY)}
    monkeypatch.setattr(engines, "Usage", Unsynced)
    with pytest.raises(WorkloadError, match="5 commits asked for 4 syncs: not durable"):
        engines.write(job)
    monkeypatch.undo()
    cases = engines.read(job, engines.CLOSED)
    assert {case.outcome for case in cases} == {"measured"}
    assert engines._WORKLOADS["settle"](job)[0].outcome == "measured"


def test_a_failure_ends_a_round(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def failing(limits: Any, workload: Any, *arguments: Any) -> Any:
        raise WorkloadError("the disk is full")

    monkeypatch.setattr(engines, "fresh_within", failing)
    there = Place(tmp_path, (), None)
    [case] = engines._measured(Contestant("mono_space", "rocksdb"), TINY, there)
    assert (case.workload, case.outcome, case.reason) == ("write", "failed", "the disk is full")
    assert replace(case, reason=None).figures == {}
