"""The faults' own test: each twin of a good small store that breaks one promise is caught."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdb.testing.faults import (
    BrokenPromiseError,
    Coverage,
    Trials,
    cut_power,
    flip_bits,
    interfere,
    missing,
    rivals,
    scratch,
)
from cdb.testing.faults.suite import FaultTests

Trial = Callable[[str, Path], Coverage]

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def power(spec: str, directory: Path) -> Coverage:
    with Trials(spec) as trials:
        return cut_power(trials, 1, directory)


def flips(spec: str, directory: Path) -> Coverage:
    return flip_bits(spec, 1, directory, flips=100)


def errors(spec: str, directory: Path) -> Coverage:
    with Trials(spec) as trials:
        return interfere(trials, 1, directory, "eio")


def spec_of(name: str) -> str:
    return f"cdb.testing.faults.broken:{name}"


@pytest.fixture
def directory() -> Iterator[Path]:
    with scratch() as directory:
        yield Path(directory)


class TestGood(FaultTests):
    schema = spec_of("Good")
    most_databases = None
    most_calls = None

    def test_no_flipped_bit_is_served(self, directory: Path) -> None:
        assert flips(self.schema, directory).points == 100


@pytest.mark.parametrize(
    ("name", "trial", "problem"),
    [
        ("NoFsync", power, "CorruptDatabaseError"),
        ("NoDirectoryFsync", power, "step 5 was acknowledged, and the state of step 0 is left"),
        ("CommitFirst", power, "CorruptDatabaseError"),
        ("SyncsAgain", errors, "CorruptDatabaseError"),
        ("NoChecksum", flips, "damage is served"),
        ("NoLock", rivals, "a second process opens it"),
    ],
)
def test_a_broken_promise_is_caught_and_again_by_the_command_that_is_told(
    name: str, trial: Trial, problem: str, directory: Path
) -> None:
    with pytest.raises(BrokenPromiseError, match=problem) as caught:
        trial(spec_of(name), directory)
    program, *arguments = caught.value.case.command.split()
    assert program == "python"
    again = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    assert again.returncode == 1
    assert problem in again.stderr
    assert "Traceback" not in again.stderr
