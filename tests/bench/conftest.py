"""A small replay as a file, with what is true of it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from cdb.bench.truth import Truth, find_truth


@dataclass(frozen=True)
class Replay:
    """The text's path, and the truth with its directory."""

    path: str
    truth: Truth
    directory: str


@pytest.fixture
def small(tmp_path: Path, replay: bytes) -> Replay:
    """The blocks of 2,000 coins."""
    path = tmp_path / "replay.txt"
    path.write_bytes(replay)
    directory = tmp_path / "truth"
    directory.mkdir()
    return Replay(str(path), find_truth(str(path), str(directory)), str(directory))
