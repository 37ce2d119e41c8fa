"""Every schema of cdb's own keeps its promises under faults, with small memtables and runs."""

from collections.abc import Mapping

import pytest

from cdb.schemas import find_schema
from cdb.schemas.registry import OWN_SCHEMAS
from cdb.testing.faults import CATALOGUE, Subject, all_subjects, scratch
from cdb.testing.faults.power import record
from cdb.testing.faults.recorder import Kind
from cdb.testing.faults.script import FIRST_LOAD
from cdb.testing.faults.shim import missing
from cdb.testing.faults.suite import UNDER_LOAD, Covered, FaultTests
from tests.engines import ASKED_FOR, IN_C, WITH_LARGE_JOURNALS

EVERY_CUT: Mapping[str, int | None] = dict.fromkeys(
    name for name in CATALOGUE if name.startswith("power-")
)


NO_LOADS = dict.fromkeys(UNDER_LOAD, 0)
"""Of the schemas that share their store with sqlite_v3; memory takes no packs."""
HALF = {name: (kind.share + 1) // 2 for name, kind in CATALOGUE.items() if kind.share}
"""A soak makes the others."""
FEW = {name: (kind.share + 3) // 4 for name, kind in CATALOGUE.items() if kind.share}
ALWAYS = {"coin_log", "rocks_kv"}
"""The stores that mend by themselves what a crash leaves; the others are left to long tests."""
LONG_LOADS = {"eio", "eio-sync", "kill-reopen"}
"""Under load these are left to long tests; a small script meets them always."""
BUDGETS: Mapping[str, Mapping[str, object]] = {
    "memory": {"most": {**HALF, **EVERY_CUT}, "most_under_load": NO_LOADS},
    "blockchain_v2": {"most": HALF, "most_under_load": NO_LOADS},
    "sqlite_v3": {"limits": (), "most": HALF, "most_under_load": {"power-strict": 1}},
    "sqlite_row": {"limits": (), "most": HALF, "most_under_load": NO_LOADS},
    "flat_file": {"limits": (), "most": HALF, "most_under_load": NO_LOADS},
    "rocks": {"most": HALF, "most_under_load": NO_LOADS},
    "rocks_kv": {"most": HALF, "most_under_load": dict.fromkeys(LONG_LOADS, 0)},
    **{schema: {"most": HALF} for schema in IN_C},
    **{each.schema: {"most": FEW, "most_under_load": NO_LOADS} for each in ASKED_FOR},
    **{
        schema: {"most": FEW | dict.fromkeys(EVERY_CUT, 0), "most_under_load": NO_LOADS}
        for schema in WITH_LARGE_JOURNALS
    },
    "offset_log": {"limits": (), "most": HALF, "most_under_load": NO_LOADS},
    "coin_log": {"limits": (), "most_under_load": dict.fromkeys(LONG_LOADS, 0)},
    "coin_log-keys": {"limits": (), "most": HALF, "most_under_load": NO_LOADS},
    "rocks_kv-keys": {"most": HALF, "most_under_load": NO_LOADS},
}
"""Where more or less is tried than of any other schema. Limits are left out that its seed does not
show."""


def _is_tried(name: str, subject: Subject) -> None:
    members = {"schema": subject.spec, "seed": subject.seed, "limits": subject.limits}
    of_it = members | dict(BUDGETS.get(name, {}))
    tests = type(f"Test_{name}", (FaultTests,), of_it)
    globals()[f"Test_{name}"] = tests if name in ALWAYS else pytest.mark.long(tests)


for _name in sorted(all_subjects().keys() & {*OWN_SCHEMAS, "coin_log-keys", "rocks_kv-keys"}):
    _is_tried(_name, all_subjects()[_name])


def _tests_of(name: str) -> FaultTests:
    """The tests of one of ALWAYS, for what make test leaves out of them."""
    subject = all_subjects()[name]
    members = {"schema": subject.spec, **BUDGETS[name]}
    tests: FaultTests = type("Tests", (FaultTests,), members)()
    return tests


@pytest.mark.long
@pytest.mark.parametrize("trial", sorted(LONG_LOADS))
@pytest.mark.parametrize("name", sorted(ALWAYS))
def test_no_fault_breaks_a_promise_under_load(name: str, trial: str, covered: Covered) -> None:
    _tests_of(name)._try(trial, FIRST_LOAD, UNDER_LOAD[trial], covered)


@pytest.mark.long
@pytest.mark.parametrize("trial", EVERY_CUT)
def test_no_cut_at_all_breaks_a_promise_of_coin_log(trial: str, covered: Covered) -> None:
    seed = all_subjects()["coin_log"].seed
    _tests_of("coin_log")._try(trial, seed, None, covered)


@pytest.mark.long
@pytest.mark.timeout(900)  # a minute by itself
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
    subject = all_subjects()[name]
    problem = find_schema(subject.spec).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        operations = record(subject.spec, subject.seed, directory).operations
    removed = [each for each in operations if each.kind is Kind.UNLINK and "/run-" in each.path]
    assert len(removed) >= 2
