"""A share of what chia's store and cdb's go through together; the whole of it is by command line:
`python -m tests.chia.twin --kills 5000`, `python -m tests.chia.faults power --times 500`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")


@pytest.mark.parametrize(
    "trial",
    [
        ["twin", "--seed", "15", "--kills", "30"],
        ["twin", "--seed", "15", "--walks", "4"],
        ["faults", "kill", "--seed", "15", "--times", "20"],
        ["faults", "power", "--seed", "15", "--times", "60"],
    ],
    ids=["kills at any time", "a walk", "kills before a call", "power cuts"],
)
def test_twins_are_equal_after(trial: list[str]) -> None:
    module, *options = trial
    line = [sys.executable, "-m", f"tests.chia.{module}", *options]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "no difference" in ended.stdout
