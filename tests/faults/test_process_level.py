"""At the level PROCESS a kill costs nothing that was flushed, and a power cut may: see
test_power_cuts.py."""

import pytest

from cdb.schemas import find_schema
from cdb.testing.faults import CATALOGUE, BrokenPromiseError, all_subjects, missing, scratch
from cdb.testing.faults.oracle import Oracle
from cdb.testing.faults.suite import Covered

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.mark.parametrize("name", ["sqlite_v3", "rocks_kv", "coin_log"])
def test_what_was_flushed_survives_a_kill(name: str, covered: Covered) -> None:
    spec = all_subjects()[f"{name}-process"].spec
    problem = find_schema(spec).missing
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        coverage = CATALOGUE["kill"].trial(spec, 1, directory, most=6, only=None)
    covered(coverage)
    assert coverage.points == 6


def test_a_power_cut_takes_what_was_flushed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Oracle, "after_power_cut", lambda _, progress: progress)
    spec = all_subjects()["blockchain_v2-process"].spec
    with scratch() as directory, pytest.raises(BrokenPromiseError, match="was acknowledged, but"):
        CATALOGUE["power-strict"].trial(spec, 1, directory, most=10, only=None)
