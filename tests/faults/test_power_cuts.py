"""A short dose of power cuts for each engine and level: those that show a missing sync.

A soak, or python -m cdb.testing.faults power-strict without --most, makes all of them.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from cdb.contract.durability import Durability
from cdb.schemas import find_schema
from cdb.testing.faults import CATALOGUE, Coverage, all_subjects, missing, scratch
from cdb.testing.faults.boundaries import SYNCED, WAYS, Boundaries
from cdb.testing.faults.crash_states import NOTHING
from cdb.testing.faults.disk import Disk, FileSystem
from cdb.testing.faults.recorder import read_trace
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.suite import Covered
from cdb.testing.faults.trial import DATABASE, new_directory
from tests.engines import IN_C

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
    **{f"{schema}{level}": 30 for schema in IN_C for level in ("", "-process")},
    "offset_log": 30,
    "coin_log": 40,
    "coin_log-process": 40,
}
"""So many are opened of each engine, at POWER and at PROCESS."""

BY_THREADS = ("DATA_SYNC db/db/MANIFEST-N", "DATA_SYNC db/db/N.sst", "SYNC db/db")
ENGINES = [
    name
    for name in DATABASES
    if not name.endswith("-process") and Durability.PROCESS in find_schema(name).spec.durabilities
]
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
    problem = find_schema(name.removesuffix("-process")).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        return CATALOGUE[trial].trial(spec, seed, directory, most=most, only=None)


@pytest.mark.parametrize("name", ["coin_log", "rocks_kv", "memory"])
def test_at_none_is_synced_what_is_at_process(name: str) -> None:
    """So what a power cut leaves at PROCESS it leaves at NONE, too."""
    spec = all_subjects()[name].spec
    problem = find_schema(name.removesuffix("-process")).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        at_none, at_process, at_power = (
            _syncs_by_file(spec, level, new_directory(directory / level.value))
            for level in (Durability.NONE, Durability.PROCESS, Durability.POWER)
        )
    assert at_none == at_process
    assert at_process != at_power


@pytest.mark.parametrize("name", ["sqlite_v3", "sqlite_row", "flat_file", "rocks"])
def test_an_index_is_synced_alike_at_process_and_at_power(name: str) -> None:
    """One that lost a rewind which the rows have would be taken for damage at POWER."""
    spec = all_subjects()[name].spec
    problem = find_schema(name).missing
    if problem is not None:
        pytest.skip(problem)

    def syncs_of_index(level: Durability) -> dict[str, int]:
        with scratch() as directory:
            syncs = _syncs_by_file(spec, level, directory)
        return {kind: n for kind, n in syncs.items() if "index/" in kind}

    at_process, at_power = map(syncs_of_index, (Durability.PROCESS, Durability.POWER))
    assert at_power
    assert at_process == at_power


def _syncs_by_file(spec: str, level: Durability, directory: Path) -> Counter[str]:
    """How often files were synced, but those that RocksDB's threads write when they come to it."""
    trace = directory / "trace"
    request = Request(spec, 1, directory / DATABASE, durability=level, trace=trace)
    ended = Run(request).listen_to_end()
    assert ended.error is None
    boundaries, syncs = Boundaries(directory), Counter[str]()
    disk = Disk(str(directory), FileSystem.STRICT)
    for operation in read_trace(trace):
        disk.apply(operation)
        boundaries.pass_by(operation, disk)
        shown = boundaries.shown_by(NOTHING)
        if shown is not None and shown.way == SYNCED:
            syncs[shown.kind] += 1
    for kind in BY_THREADS:
        del syncs[kind]
    return syncs
