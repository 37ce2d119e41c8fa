"""The trial's own test: stores that handle damage without care are caught, a good one passes."""

import subprocess
import sys
from pathlib import Path

import pytest

from cdb.testing.faults import BrokenPromiseError
from cdb.testing.faults.damage_trial import rot


def test_a_good_store_refuses_what_makes_no_sense(tmp_path: Path) -> None:
    coverage = rot("tests.broken.files:Good", 1, tmp_path, way="fuzz")
    assert coverage.points == coverage.possible > 0
    refused = sum(coverage.found.get(what, 0) for what in ("refused", "detected"))
    assert refused > coverage.points // 2
    assert not {"died", "broken"} & coverage.found.keys()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("Careless", "damage gives IndexError"),
        ("Dies", "its process ends with -6"),
        ("Spins", "it takes more than 2 s of the processor"),
        ("Swells", "damage gives MemoryError"),
    ],
)
def test_carelessness_is_caught(name: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(BrokenPromiseError, match=problem):
        rot(f"tests.broken.files:{name}", 1, tmp_path, way="fuzz")


def test_the_command_that_is_told_does_it_again(tmp_path: Path) -> None:
    with pytest.raises(BrokenPromiseError) as caught:
        rot("tests.broken.files:Dies", 1, tmp_path, way="fuzz")
    program, *arguments = caught.value.case.command.split()
    assert program == "python"
    again = subprocess.run([sys.executable, *arguments], capture_output=True, text=True)
    assert again.returncode == 1
    assert "its process ends with -6" in again.stderr
