"""Every schema of cdb's own keeps its promises under faults, with small memtables and runs."""

from collections.abc import Mapping

import pytest

from cdb.schemas import find_schema
from cdb.testing.faults import CATALOGUE, SUBJECTS, scratch
from cdb.testing.faults.power import record
from cdb.testing.faults.recorder import Kind
from cdb.testing.faults.script import FIRST_LOAD
from cdb.testing.faults.shim import missing
from cdb.testing.faults.suite import UNDER_LOAD, FaultTests

EVERY_CUT: Mapping[str, int | None] = dict.fromkeys(
    name for name in CATALOGUE if name.startswith("power-")
)


LESS_UNDER_LOAD = {"kill": 0, "eio": 0, "kill-reopen": 0}
"""Of the schemas that share their store with sqlite_v3; memory takes no packs."""


class TestMemory(FaultTests):
    most_under_load = LESS_UNDER_LOAD
    schema = SUBJECTS["memory"].spec
    most = EVERY_CUT


class TestBlockchainV2(FaultTests):
    schema = SUBJECTS["blockchain_v2"].spec
    most_under_load = LESS_UNDER_LOAD
    limits = SUBJECTS["blockchain_v2"].limits


class TestSqliteV3(FaultTests):
    schema = SUBJECTS["sqlite_v3"].spec


class TestSqliteRow(FaultTests):
    schema = SUBJECTS["sqlite_row"].spec
    most_under_load = dict.fromkeys(UNDER_LOAD, 0)
    seed = SUBJECTS["sqlite_row"].seed


class TestFlatFile(FaultTests):
    schema = SUBJECTS["flat_file"].spec
    most_under_load = LESS_UNDER_LOAD
    seed = SUBJECTS["flat_file"].seed


class TestRocks(FaultTests):
    schema = SUBJECTS["rocks"].spec
    most_under_load = LESS_UNDER_LOAD
    limits = SUBJECTS["rocks"].limits


class TestRocksKv(FaultTests):
    schema = SUBJECTS["rocks_kv"].spec
    limits = SUBJECTS["rocks_kv"].limits


class TestCoinLog(FaultTests):
    schema = SUBJECTS["coin_log"].spec
    most = EVERY_CUT


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_coin_log_keeps_a_load_when_a_write_of_its_own_thread_fails() -> None:
    """At the default sizes, so that a large append is not followed by a checkpoint at once."""
    problem = find_schema("coin_log").missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        trial = CATALOGUE["enospc"].trial
        coverage = trial("coin_log", FIRST_LOAD, directory, most=None, only=None)
    assert coverage.points >= 30


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
@pytest.mark.parametrize("name", ["sqlite_row", "flat_file", "coin_log"])
def test_the_script_merges_runs(name: str) -> None:
    subject = SUBJECTS[name]
    problem = find_schema(subject.spec).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        operations = record(subject.spec, subject.seed, directory).operations
    removed = [each for each in operations if each.kind is Kind.UNLINK and "/run-" in each.path]
    assert len(removed) >= 2
