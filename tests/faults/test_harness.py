"""The faults' own test: each twin of a good small store that breaks one promise is caught."""

import subprocess
import sys

import pytest

from cdb.testing.faults import CATALOGUE, BrokenPromiseError, missing, scratch
from cdb.testing.faults.suite import UNDER_LOAD, FaultTests

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def spec_of(name: str) -> str:
    return f"cdb.testing.faults.broken:{name}"


class TestGood(FaultTests):
    schema = spec_of("Good")
    most_under_load = dict.fromkeys(UNDER_LOAD, 1)
    most = dict.fromkeys(name for name in CATALOGUE if name.startswith("power-"))


@pytest.mark.parametrize(
    ("name", "trial", "problem"),
    [
        ("NoFsync", "power-ext4", "CorruptDatabaseError"),
        ("NoDirectoryFsync", "power-strict", "CorruptDatabaseError"),
        ("CommitFirst", "power-strict", "CorruptDatabaseError"),
        ("SyncsAgain", "eio", "CorruptDatabaseError"),
        ("NoChecksum", "flip", "damage is served"),
        ("NoLock", "rivals", "it is opened for writing twice"),
    ],
)
def test_a_broken_promise_is_caught_and_again_by_the_command_that_is_told(
    name: str, trial: str, problem: str
) -> None:
    with scratch() as directory, pytest.raises(BrokenPromiseError, match=problem) as caught:
        CATALOGUE[trial].trial(spec_of(name), 1, directory, most=None, only=None)
    program, *arguments = caught.value.case.command.split()
    assert program == "python"
    again = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    assert again.returncode == 1
    assert problem in again.stderr
    assert "Traceback" not in again.stderr


def test_what_an_opening_trusts_too_soon_is_caught() -> None:
    problem = "was acknowledged, and the state of"
    with scratch() as directory, pytest.raises(BrokenPromiseError, match=problem):
        CATALOGUE["kill-reopen"].trial(
            spec_of("TrustsWhatItFinds"), 2, directory, most=None, only=None
        )
