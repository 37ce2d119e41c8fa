"""The faults' own test: each twin of a good small store that breaks one promise is caught."""

import subprocess
import sys

import pytest

from cdb.errors import UnsupportedError
from cdb.testing.faults import CATALOGUE, BrokenPromiseError, missing, scratch
from cdb.testing.faults.suite import UNDER_LOAD, FaultTests

pytestmark = [
    pytest.mark.long,  # of the lab, not of what it looks at
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


def spec_of(name: str) -> str:
    return f"tests.broken.files:{name}"


class TestGood(FaultTests):
    schema = spec_of("Good")
    most_under_load = dict.fromkeys(UNDER_LOAD, 1)


@pytest.mark.parametrize(
    ("name", "trial", "problem"),
    [
        ("NoFsync", "power-ext4", "CorruptDatabaseError"),
        (
            "NoDirectoryFsync",
            "power-strict",
            "was acknowledged, but the database is back at step 0",
        ),
        ("CommitFirst", "power-strict", "CorruptDatabaseError"),
        ("SyncsAgain", "eio", "CorruptDatabaseError"),
        ("IgnoresLostNames", "eio-sync-names", "the database is back at step 0"),
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


@pytest.mark.parametrize(
    ("name", "trial", "problem"),
    [
        ("FailsWatched", "kill", "without a fault, the script ends with StorageError"),
        ("FailsWatched", "power-ext4", "without a fault, the script ends with StorageErr"),
        ("DiesWatched", "eio-sync", "without a fault, the script ends with signal 6"),
        ("AltersWatched", "eio-reopen", "without a fault, it ends in a wrong state"),
        ("AltersWatched", "power-ext4", "without a fault, it ends in a wrong state"),
        ("FailsTheSecondTime", "short", "nothing was put in, and it fails"),
        ("DiesBeforeItIsKilled", "kill-load", "it ends with signal 11"),
        ("WantsMuch", "file-size", "without a fault, the script ends with StorageErr"),
        ("SendsReadersAway", "beside", "sent away without a rewind"),
        ("FindsNothing", "beside", "a lookup mixes the states"),
        ("ChecksBlocksFirst", "rivals", r"fork\(\) may accept a block with BlockOrderE"),
    ],
)
def test_who_fails_early_has_kept_no_promise(name: str, trial: str, problem: str) -> None:
    spec, most = spec_of(name), {"short": 20, "rivals": None}.get(trial, 2)
    with scratch() as directory, pytest.raises(BrokenPromiseError, match=problem):
        CATALOGUE[trial].trial(spec, 1, directory, most=most, only=None)


def test_a_call_that_never_comes_is_no_trial() -> None:
    with scratch() as directory, pytest.raises(UnsupportedError, match="makes no call that eio-s"):
        CATALOGUE["eio-sync"].trial(spec_of("SyncsNothing"), 1, directory, most=None, only=None)


def test_what_an_opening_trusts_too_soon_is_caught() -> None:
    problem = "was acknowledged, but the database is"
    with scratch() as directory, pytest.raises(BrokenPromiseError, match=problem):
        CATALOGUE["kill-reopen"].trial(
            spec_of("TrustsWhatItFinds"), 2, directory, most=None, only=None
        )
