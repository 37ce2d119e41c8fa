"""A share of the twin test; the whole of it is `python -m tests.chia.twin --kills 5000`."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")


def test_twins_are_equal_after_kills() -> None:
    line = [sys.executable, "-m", "tests.chia.twin", "--seed", "15", "--kills", "30"]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "30 kills" in ended.stdout
