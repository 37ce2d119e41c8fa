"""Faults that no tool makes, each at a place in the code that has its name: see docs/mutants.md.

A sync that is left out, durable steps that change places, an error that is swallowed, a lock
that is not taken, a snapshot that is none, an entry that is lost where a buffer ends.

points/ has a file for each store and engine: a line is a point and the test that notices it. Of a
test with parameters, some notice it.
"""

from pathlib import Path

_FILES = sorted(Path(__file__).with_suffix("").glob("*.txt"))

POINTS = dict(
    line.split(maxsplit=1) for file in _FILES for line in file.read_text("utf-8").splitlines()
)
"""The test that notices each."""
