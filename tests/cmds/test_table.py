"""Tables, durations and sizes as commands print them."""

import pytest

from cdb.cmds.table import duration, size, table


def test_columns_are_aligned() -> None:
    rows = [["name", "n", "note"], ["a", "1,000", "x"], ["longer", "7", ""]]
    assert table(rows).splitlines() == [
        "name        n  note",
        "a       1,000     x",
        "longer      7",
    ]
    assert table(rows, left=frozenset({0, 2})).splitlines()[1] == "a       1,000  x"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.00 s"),
        (0.42, "0.42 s"),
        (12.34, "12.3 s"),
        (60, "1 m 00 s"),
        (1358.4, "22 m 38 s"),
        (119.7, "2 m 00 s"),
        (3599.4, "59 m 59 s"),
        (3600, "1 h 00 m"),
        (3900, "1 h 05 m"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (None, "n/a"),
        (0, "0 B"),
        (815, "815 B"),
        (999, "999 B"),
        (1_000, "1 kB"),
        (1_250_000, "1.25 MB"),
        (999_400, "999 kB"),
        (999_600, "1 MB"),
        (18_900_000_000, "18.9 GB"),
        (5 * 10**15, "5e+03 TB"),
    ],
)
def test_sizes(n_bytes: int | None, text: str) -> None:
    assert size(n_bytes) == text
