"""Keys, values and seeks of all layouts, over maps in memory and without an engine.

The fuzz target native/fuzz/layouts.cpp holds what they say against a list of all that happened.

Its names share prefixes, and are full of 00, 01, fe and ff; blocks come and go in any order.
"""

import os
import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.conftest import ROOT

PROGRAMS = Path(os.environ.get("CDB_FUZZ_PROGRAMS", ROOT / "build/fuzz/replay"))
CHOICES = 10
"""Layouts with their options, by the first byte of an input."""
INPUTS = 40
"""For each of them."""


@pytest.mark.parametrize("choice", range(CHOICES))
def test_what_a_layout_says_is_what_happened(choice: int, tmp_path: Path) -> None:
    random = Random(choice)
    for n in range(INPUTS):
        content = bytes([choice]) + random.randbytes(random.choice([40, 200, 900]))
        (tmp_path / str(n)).write_bytes(content)
    program = PROGRAMS / "layouts"
    assert program.exists(), f"{program} is missing; run make native"
    run = subprocess.run([program, *tmp_path.iterdir()], capture_output=True, text=True)
    *_, last = run.stdout.splitlines()
    assert run.returncode == 0, f"{last}: {run.stderr}"
