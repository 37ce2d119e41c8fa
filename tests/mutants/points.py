"""Faults that no tool makes, each at a place in the code that has its name: see docs/mutants.md.

A sync that is left out, durable steps that change places, an error that is swallowed, a lock
that is not taken, a snapshot that is none, an entry that is lost where a buffer ends.
"""

from pathlib import Path

_LINES = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()

POINTS = dict(
    line.split(maxsplit=1) for line in _LINES if line.strip() and not line.startswith("#")
)
"""The test that notices each."""
