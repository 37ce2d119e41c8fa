"""A number that one process counts, and another one looks at."""

from pathlib import Path

import pytest

from cdb.bench import counter
from cdb.bench.counter import Counter, watched


def test_what_is_counted_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counter, "_LOOK_SECONDS", 0.001)
    told: list[int] = []
    with watched(tmp_path / "n", told.append):
        while not told:  # there is no such file yet, and it says so
            pass
        count = Counter(tmp_path / "n")
        for _ in range(3):
            count.add(100)
        while sum(told) < 300:
            pass
        monkeypatch.setattr(counter, "_LOOK_SECONDS", 1_000)
        count.add(7)  # told at the end, which doesn't wait
    assert sum(told) == 307
    assert min(told) == 0
    count.add(1)
    assert sum(told) == 307
