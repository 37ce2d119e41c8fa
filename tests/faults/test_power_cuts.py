"""A short dose of power cuts for each engine and level: those that show a missing sync.

A soak, or python -m cdb.testing.faults power-strict without --most, makes all of them.
"""

from collections.abc import Mapping

import pytest

from cdb.schemas import find_schema
from cdb.testing.faults import CATALOGUE, Coverage, all_subjects, missing, scratch
from cdb.testing.faults.boundaries import WAYS
from cdb.testing.faults.suite import Covered

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

DATABASES: Mapping[str, int] = {
    "memory": 20,
    "sqlite_v3": 30,
    "sqlite_v3-process": 20,
    "flat_file": 30,
    "flat_file-process": 20,
    "rocks": 30,
    "rocks-process": 20,
    "rocks_kv": 40,
    "rocks_kv-process": 40,
    "lmdb_kv": 30,
    "lmdb_kv-process": 30,
    "coin_log": 40,
    "coin_log-process": 40,
}
"""So many are opened of each engine, at POWER and at PROCESS."""

ENGINES = [name for name in DATABASES if not name.endswith("-process")]
REWINDS_WHAT_WAS_CLOSED = 66
"""A seed whose script flushes often, and rewinds behind a close: what is taken back is durable."""
OFTEN_FLUSHED = 2
"""A seed whose script has steps without a block between them."""


@pytest.mark.parametrize("name", DATABASES)
def test_no_cut_at_a_boundary_breaks_a_promise(name: str, covered: Covered) -> None:
    coverage = _tried(name, "power-strict", REWINDS_WHAT_WAS_CLOSED, DATABASES[name])
    covered(coverage)
    assert coverage.databases == DATABASES[name]
    assert coverage.found.keys() == {*WAYS}


@pytest.mark.parametrize("name", ENGINES)
def test_nothing_is_promised_that_a_process_at_the_level_below_had_not_synced(
    name: str, covered: Covered
) -> None:
    coverage = _tried(name, "below-reopen", OFTEN_FLUSHED, None)
    covered(coverage)
    assert coverage.points == coverage.possible == 4


def _tried(name: str, trial: str, seed: int, most: int | None) -> Coverage:
    spec = all_subjects()[name].spec
    problem = find_schema(spec).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        return CATALOGUE[trial].trial(spec, seed, directory, most=most, only=None)
