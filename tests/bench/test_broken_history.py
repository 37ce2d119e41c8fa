"""A wrong answer as of a height is found by the workload that gets it; no history is no failure."""

from pathlib import Path

import pytest

from cdb.bench.case import Case, measure, measure_here
from cdb.bench.database import NO_HISTORY
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.history import BY_CREATION, BY_NAME
from cdb.lab.process import NotMeasuredError, WorkloadError, WrongAnswerError
from cdb.schemas import SchemaSpec
from cdb.schemas.memory import MemorySchema
from tests.bench.conftest import Databases
from tests.conftest import load_all

WORKLOADS = ("latest", "historical", "archival")
MEMORY, HISTORY = "tests.broken.memory", "tests.broken.history"
UNSPENT, TIP, TENTH = (f"a scan of {state} coins " for state in ("unspent", "tip", "tenth"))
AS_OF, VERSIONS = "a lookup as of height ", r"versions\(\d+, \d+\) gave wrong rows"


@pytest.fixture
def loaded(blocks: tuple[BlockSpendInfo, ...], tmp_path: Path) -> None:
    """A database that holds the replay, for all that inherit from memory."""
    with MemorySchema(tmp_path / "db") as right:
        load_all(right, blocks)


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(
    ("schema", "workload", "problem"),
    [
        (f"{HISTORY}:TakesSpentForUnspent", "latest", UNSPENT),
        (f"{HISTORY}:ForgetsAsOfTheTip", "historical", AS_OF),
        (f"{HISTORY}:ForgetsToMaskSpends", "historical", TENTH),
        (f"{HISTORY}:ForgetsToMaskCoins", "historical", TENTH),
        (f"{HISTORY}:LeavesOutSpentCoins", "historical", TIP),
        (f"{HISTORY}:SeeksBefore", "historical", TIP),
        (f"{HISTORY}:TakesADeltaForAState", "historical", TIP),
        (f"{HISTORY}:GivesStatesTwice", "historical", TIP),
        (
            f"{HISTORY}:KnowsTooMuchAsOf",
            "historical",
            rf"{AS_OF}\d+ found a coin that does not exist",
        ),
        (f"{HISTORY}:OrdersVersionsByName", "archival", VERSIONS),
        (f"{HISTORY}:LeavesOutAnEnd", "archival", VERSIONS),
        (f"{HISTORY}:TellsVersionsAsOfNow", "archival", VERSIONS),
        (f"{HISTORY}:GivesAHalfEmptyPage", "latest", UNSPENT),
        (f"{HISTORY}:NamesOtherRows", "archival", VERSIONS),
    ],
)
def test_a_wrong_answer_is_found(
    schema: str, workload: str, problem: str, database: Databases
) -> None:
    with pytest.raises(WrongAnswerError, match=f"^{problem}"):
        measure_here(workload, database(schema))


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("workload", WORKLOADS)
def test_no_history_is_not_measured(workload: str, database: Databases) -> None:
    without = database(f"{HISTORY}:KeepsNoHistory")
    with pytest.raises(NotMeasuredError, match=f"^{NO_HISTORY}$"):
        measure_here(workload, without)
    if workload == "latest":
        assert measure(workload, without) == [Case.not_measured(workload, {}, NO_HISTORY)]


@pytest.mark.parametrize(
    ("schema", "told", "order"),
    [
        ("Settles", BY_NAME, BY_NAME),
        ("KeepsSpends", BY_CREATION, BY_CREATION),
        ("KeepsSpends", BY_NAME, None),  # what it has in memory may come last
        ("Settles", None, None),
    ],
)
def test_an_order_counts_where_all_coins_have_it(
    schema: str,
    told: str | None,
    order: str | None,
    database: Databases,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MEMORY + ".SCHEMA", SchemaSpec(MemorySchema, history=told), raising=False)
    made = database(f"{MEMORY}:{schema}")
    with made.open() as opened:
        assert made.order_of(opened) == order


def test_a_load_without_history_has_no_case_of_it(database: Databases) -> None:
    cases = measure_here("load", database(f"{HISTORY}:KeepsNoHistory"))
    assert [case.workload for case in cases] == ["load", "read_random"]


@pytest.mark.usefixtures("loaded")
def test_half_a_history_is_a_failure(database: Databases) -> None:
    with pytest.raises((WorkloadError, TypeError), match="keeps half a history"):
        measure_here("latest", database(f"{HISTORY}:KeepsHalfAHistory"))
