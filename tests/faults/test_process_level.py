"""At the level PROCESS a kill costs nothing that was flushed; a power cut leaves whole blocks."""

import pytest

from cdb.schemas import find_schema
from cdb.testing.faults import CATALOGUE, BrokenPromiseError, all_subjects, missing, scratch
from cdb.testing.faults.oracle import Oracle

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.mark.parametrize(
    ("name", "trial", "most"),
    [
        ("sqlite_v3-process", "kill", 6),
        ("rocks_kv-process", "kill", 6),
        ("coin_log-process", "kill", 6),
        ("flat_file-process", "power-ext4", 6),
        ("rocks_kv-process", "power-strict", 6),
        ("lmdb_kv-process", "power-strict", 60),
    ],
)
def test_what_was_flushed_survives_a_kill_and_whole_blocks_a_power_cut(
    name: str, trial: str, most: int
) -> None:
    spec = all_subjects()[name].spec
    problem = find_schema(spec).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        coverage = CATALOGUE[trial].trial(spec, 1, directory, most=most, only=None)
    assert coverage.points


def test_a_power_cut_takes_what_was_flushed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Oracle, "after_power_cut", lambda _, progress: progress)
    spec = all_subjects()["blockchain_v2-process"].spec
    with scratch() as directory, pytest.raises(BrokenPromiseError, match="was acknowledged, but"):
        CATALOGUE["power-strict"].trial(spec, 1, directory, most=10, only=None)
