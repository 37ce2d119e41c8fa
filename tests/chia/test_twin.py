"""A share of what chia's store and cdb's go through together; the whole of it is by command line:
`python -m tests.chia.twin --kills 5000`, `python -m tests.chia.kills --times 500`,
`python -m tests.cmds.cuts follow reorg reopen --cuts 5000`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")


@pytest.mark.parametrize(
    ("trial", "told"),
    [
        ("chia.twin --seed 15 --kills 30", "30 kills, "),
        ("chia.twin --seed 15 --walks 4", "4 walks, "),
        ("chia.kills --seed 15 --times 20", "20 kills, "),
        ("cmds.cuts follow --seed 1 --places 3", " cuts: all is well"),
        ("cmds.cuts reorg --seed 1 --places 3", " cuts: all is well"),
        ("cmds.cuts reopen --seed 2 --places 3", " cuts: all is well"),
    ],
    ids=[
        "kills at any time",
        "a walk",
        "kills before a call",
        "power cuts",
        "of reorgs",
        "after a kill",
    ],
)
def test_twins_are_equal_after(trial: str, told: str) -> None:
    module, *options = trial.split()
    line = [sys.executable, "-m", f"tests.{module}", *options]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert told in ended.stdout
