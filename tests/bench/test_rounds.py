"""Rounds: their order, and what several runs come to."""

from cdb.bench.rounds import rotated
from cdb.report.model import Spread


def test_the_order_rotates() -> None:
    assert [rotated("abc", by) for by in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]


def test_spreads() -> None:
    assert Spread.of([5, 1, 2]) == Spread(1, 2, 5, runs=3)
    assert Spread.of([4, 1, 2, 3]) == Spread(1, 2.5, 4, runs=4)
    assert Spread.of([7]) == Spread(7, 7, 7, runs=1)
