"""A short dose of power cuts for each engine and level: those that show a missing sync.

A soak, or python -m cdb.testing.faults power-strict without --most, makes all of them.
"""

from collections.abc import Mapping

import pytest

from cdb.schemas import find_schema
from cdb.testing.faults import CATALOGUE, all_subjects, missing, scratch
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


@pytest.mark.parametrize("name", DATABASES)
def test_no_cut_at_a_boundary_breaks_a_promise(name: str, covered: Covered) -> None:
    subject = all_subjects()[name]
    problem = find_schema(subject.spec).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        coverage = CATALOGUE["power-strict"].trial(
            subject.spec, subject.seed, directory, most=DATABASES[name], only=None
        )
    covered(coverage)
    assert coverage.databases == DATABASES[name]
    assert coverage.found.keys() == {*WAYS}
