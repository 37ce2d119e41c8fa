"""Rounds: their order, and that a failure ends one contestant and no other."""

import pytest

from cdb.bench.answers import WrongAnswerError
from cdb.bench.process import NotMeasuredError
from cdb.bench.rounds import Samples, Spread, in_rounds, rotated


def test_the_order_rotates() -> None:
    assert [rotated("abc", by) for by in range(4)] == [
        ["a", "b", "c"],
        ["b", "c", "a"],
        ["c", "a", "b"],
        ["a", "b", "c"],
    ]


def test_each_runs_once_a_round() -> None:
    ran: list[str] = []
    begun: list[tuple[int, str]] = []

    def run(name: str) -> int:
        ran.append(name)
        return len(ran)

    contestants = {name: lambda name=name: run(name) for name in "abc"}
    samples = in_rounds(contestants, 2, lambda made, name: begun.append((made, name)))
    assert "".join(ran) == "abcbca"
    assert begun == list(enumerate("abcbca"))
    assert {name: each.runs for name, each in samples.items()} == {
        "a": [1, 6],
        "b": [2, 4],
        "c": [3, 5],
    }


@pytest.mark.parametrize("error", [WrongAnswerError("wrong"), NotMeasuredError("no disk")])
def test_a_failure_voids_its_contestant_alone(error: Exception) -> None:
    tried: list[int] = []

    def bad() -> int:
        tried.append(1)
        if len(tried) == 2:
            raise error
        return 1

    samples = in_rounds({"bad": bad, "good": lambda: 2}, 4, lambda made, name: None)
    assert samples["good"].complete
    assert samples["good"].runs == [2] * 4
    assert not samples["bad"].complete
    assert str(error) in (samples["bad"].error, samples["bad"].not_measured)
    assert len(tried) == 2


def test_other_errors_are_ours() -> None:
    def bug() -> int:
        raise KeyError("x")

    with pytest.raises(KeyError):
        Samples[int]().add(bug)


def test_spreads() -> None:
    assert Spread.of([5, 1, 2]) == Spread(1, 2, 5)
    assert Spread.of([4, 1, 2, 3]) == Spread(1, 2.5, 4)
    assert Spread.of([7]) == Spread(7, 7, 7)
