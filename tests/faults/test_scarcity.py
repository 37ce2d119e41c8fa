"""Full disks, files that may not grow, and too few open files: clear errors, and nothing lost."""

from collections.abc import Callable

import pytest

from cdb.errors import UnsupportedError
from cdb.testing.faults import CATALOGUE, BrokenPromiseError, all_subjects, scratch
from cdb.testing.faults.runs import Request, Run
from cdb.testing.faults.scarcity import SHORTAGES
from cdb.testing.faults.trial import DATABASE
from cdb.testing.plugin import FAULT_COVERAGE

pytestmark = pytest.mark.long  # of the lab, not of what it looks at

POINTS = 2


@pytest.mark.parametrize("name", ["blockchain_v2", "rocks_kv", "coin_log"])
@pytest.mark.parametrize("trial", SHORTAGES)
def test_scarcity_breaks_no_promise(
    trial: str, name: str, record_property: Callable[[str, object], None]
) -> None:
    kind, subject = CATALOGUE[trial], all_subjects()[name]
    problem = kind.missing()
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory:
        try:
            coverage = kind.trial(subject.spec, subject.seed, directory, most=POINTS, only=None)
        except UnsupportedError as error:
            pytest.skip(str(error))
    assert coverage.points == POINTS
    assert coverage.points
    record_property(FAULT_COVERAGE, str(coverage))


def test_a_database_that_cannot_be_made_is_not_called_missing() -> None:
    with scratch() as directory:
        trial = CATALOGUE["open-files"].trial
        assert trial("blockchain_v2", 1, directory, most=None, only="1").points == 1


def test_a_shared_memory_file_that_cannot_grow_wants_space() -> None:
    with scratch() as directory:
        request = Request("blockchain_v2", 1, directory / DATABASE, file_bytes=16_384)
        run = Run(request).listen_to_end()
    assert run.error is not None
    assert run.error.text.endswith("SHMSIZE); free some space, then try again")


def test_a_mapping_that_kills_on_a_full_disk_is_caught() -> None:
    kind = CATALOGUE["full-disk"]
    problem = kind.missing()
    if problem is not None:
        pytest.skip(problem)
    with scratch() as directory, pytest.raises(BrokenPromiseError, match="died of signal 7"):
        kind.trial("tests.broken.files:Maps", 1, directory, most=None, only=None)
