"""What breaks the contract has no figures: a wrong answer is found by the workload that gets it."""

from pathlib import Path

import pytest

from cdb.bench.case import Case, measure
from cdb.bench.schemas import AFTERWARDS, run
from cdb.bench.workloads import workloads
from cdb.contract.blocks import BlockSpendInfo
from cdb.schemas.memory import MemorySchema
from tests.bench.conftest import Databases
from tests.conftest import load_all

WORKLOADS = workloads()
pytestmark = pytest.mark.long  # of the lab, not of what it looks at

BROKEN = "tests.broken.memory"


@pytest.mark.parametrize(
    ("schema", "workload", "problem"),
    [
        ("LosesSpends", "load", "a lookup gave a wrong answer"),
        ("RewindsTooFar", "settle", None),
        ("MissesACoin", "read_random", "a lookup gave a wrong answer"),
        ("KnowsTooMuch", "read_random", "a lookup found a coin that does not exist"),
        ("MissesACoin", "read_sequential", "a lookup gave a wrong answer"),
        ("MissesABlock", "read_iterate", "blocks() gave a wrong block"),
        ("MissesACoin", "open", "a lookup gave a wrong answer"),
        ("StaysWhereItIs", "rewind", "the newest block is "),
        ("RewindsTooFar", "rewind", "the newest block is "),
        ("KeepsCoins", "rewind", "a rewind left a coin"),
        ("KeepsSpends", "rewind", "a rewind left a spend"),
        ("LosesSpends", "rewind", "a lookup gave a wrong answer"),
        ("LosesSpends", "append", "a spend of an accepted block is missing"),
        ("MissesACoin", "append", "a coin of an accepted block is missing"),
        ("LosesSpends", "objects", "a lookup gave a wrong answer"),
        ("MissesACoin", "read_beside", "a lookup "),
        ("LosesSpends", "read_beside", "a lookup "),
        ("ForgetsBesideAWriter", "read_beside", "a lookup beside a load gave a wrong answer"),
        ("LeavesItsMoment", "snapshot", "a snapshot changed beside a load"),
        ("MissesABlock", "digest", "its digest is "),
    ],
)
def test_a_wrong_answer_is_found(
    schema: str,
    workload: str,
    problem: str | None,
    database: Databases,
    blocks: tuple[BlockSpendInfo, ...],
    tmp_path: Path,
) -> None:
    if workload != "load":
        with MemorySchema(tmp_path / "db") as right:
            load_all(right, blocks)
    first = measure(workload, database(f"{BROKEN}:{schema}"))[0]
    if problem is None:
        assert first.outcome == "measured"
    else:
        assert (first.outcome, first.figures) == ("wrong", {})
        assert str(first.reason).startswith(problem)


def test_a_run_measures_nothing_after_a_failure(database: Databases) -> None:
    notes: list[str] = []
    cases = run(database(f"{BROKEN}:KeepsSpends"), AFTERWARDS, notes.append)
    done = WORKLOADS.index("rewind")
    assert {case.workload for case in cases} == set(WORKLOADS)
    assert [case for case in cases if case.outcome in ("wrong", "failed")] == [
        Case("rewind", outcome="wrong", reason="a rewind left a spend")
    ]
    assert cases[-len(WORKLOADS[done + 1 :]) :] == [
        Case.not_measured(workload, {}, "an earlier workload failed")
        for workload in WORKLOADS[done + 1 :]
    ]
    assert notes == ["load", "digest", *WORKLOADS[1 : done + 1]]


def test_a_run_goes_on_after_a_failure_that_left_the_database_as_it_was(
    database: Databases,
) -> None:
    cases = run(database(f"{BROKEN}:CannotSettle"), ("settle", "rewind"), lambda note: None)
    assert [case.workload for case in cases if case.outcome == "failed"] == ["settle"]
    assert "measured" in {case.outcome for case in cases if case.workload == "rewind"}


def test_a_run_of_a_wrong_state_has_no_figures(database: Databases) -> None:
    cases = run(database(f"{BROKEN}:MissesABlock"), AFTERWARDS, lambda note: None)
    assert (cases[0].workload, cases[0].outcome, cases[0].figures) == ("load", "wrong", {})
    assert [case.outcome for case in cases[1:]] == ["not_measured"] * (len(WORKLOADS) - 1)


def test_a_run_of_what_stores_nothing_is_its_load(database: Databases) -> None:
    cases = run(database("null"), AFTERWARDS, lambda note: None)
    assert [(case.workload, case.outcome) for case in cases] == [("load", "measured")]
