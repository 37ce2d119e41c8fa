"""What is asked, in which turns, and how answers are held against the truth."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from cdb.bench import asking
from cdb.bench.answers import (
    Lookups,
    ObjectLookups,
    ObjectLookupsAsOf,
    PackedLookupsAsOf,
    check_right,
    fastest_lookups_as_of,
)
from cdb.bench.asking import Pass, ask_in_turns
from cdb.bench.questions import Questions
from cdb.bench.truth import Truth
from cdb.contract.packed import INFO_BYTES
from cdb.lab.process import NotMeasuredError, WrongAnswerError
from cdb.schemas.memory import MemorySchema

HEIGHT = 100_000
Answer = tuple[bytes, bytes]


@pytest.fixture
def questions(small: Truth) -> Questions:
    """As of the middle of the replay."""
    return small.questions("any", "warm").as_of(small.newest_index // 2)


class Packed:
    """Answers as it is told to."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def coin_infos_as_of_packed(self, coin_names: bytes, height: int) -> Answer:
        """See HistoryPacked."""
        return self._answer


def not_found(questions: Questions) -> Answer:
    """One coin is told to be absent, though its info is there."""
    place = questions.found.index(1)
    found = bytearray(questions.found)
    found[place] = 0
    return questions.infos, bytes(found)


def spent(questions: Questions) -> Answer:
    """One coin is spent at another height."""
    end = INFO_BYTES * (questions.found.index(1) + 1)
    infos = bytearray(questions.infos)
    infos[end - 1] ^= 1
    return bytes(infos), questions.found


def too_few(questions: Questions) -> Answer:
    """The last name has no answer."""
    return questions.infos[:-INFO_BYTES], questions.found[:-1]


def test_a_right_packed_answer(questions: Questions) -> None:
    assert 0 < sum(questions.found) < len(questions)
    lookups = fastest_lookups_as_of(Packed((questions.infos, questions.found)))  # type: ignore[arg-type]
    assert isinstance(lookups, PackedLookupsAsOf)
    check_right(lookups, questions, lookups.ask(*lookups.arguments(questions)))


@pytest.mark.parametrize("wrong", [not_found, spent, too_few])
def test_a_wrong_packed_answer(questions: Questions, wrong: Callable[[Questions], Answer]) -> None:
    lookups = fastest_lookups_as_of(Packed(wrong(questions)))  # type: ignore[arg-type]
    answer = lookups.ask(*lookups.arguments(questions))
    with pytest.raises(WrongAnswerError, match=rf"^a lookup as of height {questions.height} gave"):
        check_right(lookups, questions, answer)


def test_objects_as_of_a_height(model: MemorySchema, questions: Questions) -> None:
    lookups = fastest_lookups_as_of(model)
    assert isinstance(lookups, ObjectLookupsAsOf)
    answer = lookups.ask(*lookups.arguments(questions))
    check_right(lookups, questions, answer)
    with pytest.raises(WrongAnswerError):
        check_right(lookups, questions, answer[1:])


def test_two_ways_take_turns_with_the_same_names(model: MemorySchema, small: Truth) -> None:
    plain = small.questions("any", "warm")
    parts = [plain.part(start, start + 50) for start in range(0, 150, 50)]
    asked: list[tuple[str, int, int]] = []

    def noting(name: str, lookups: Lookups) -> Lookups:
        right = lookups.ask

        def ask(names: Any, *height: int) -> Any:
            asked.append((name, len(names), height[0] if height else -1))
            return right(names, *height)

        lookups.ask = ask
        return lookups

    ways = (noting("as of", ObjectLookupsAsOf(model)), noting("plain", ObjectLookups(model)))
    rounds = ((part.as_of(number), part) for number, part in enumerate(parts))
    turns = ask_in_turns(ways, rounds, batch=25, seconds=60)
    assert turns.one.names == turns.other.names == 150
    assert len(turns.one.calls) == len(turns.other.calls) == 6
    assert asked == [
        *2 * [("as of", 25, 0)],
        *4 * [("plain", 25, -1)],
        *2 * [("as of", 25, 1)],
        *2 * [("as of", 25, 2)],
        *2 * [("plain", 25, -1)],
    ]


@pytest.mark.parametrize("n_rounds", [2, 3, 4])
def test_who_comes_first_makes_no_difference(
    model: MemorySchema, small: Truth, monkeypatch: pytest.MonkeyPatch, n_rounds: int
) -> None:
    """The first call of each round takes three times as long here, whose ever it is."""
    plain = small.questions("any", "warm").part(0, 10)
    calls = count()

    def ask(_: Lookups, questions: Questions, *_rest: object) -> Pass:
        seconds = 1.0 if next(calls) % 2 else 3.0
        return Pass(len(questions), seconds, [seconds])

    monkeypatch.setattr(asking, "ask", ask)
    rounds = [(plain.as_of(HEIGHT), plain)] * n_rounds
    ways = (ObjectLookupsAsOf(model), ObjectLookups(model))
    assert ask_in_turns(ways, rounds, batch=10, seconds=60).ratio == pytest.approx(1)


@pytest.mark.parametrize("slow_first", [True, False])
def test_the_slower_way_by_far_is_not_asked_for_all_that_the_other_has_time_for(
    model: MemorySchema, small: Truth, monkeypatch: pytest.MonkeyPatch, slow_first: bool
) -> None:
    plain = small.questions("any", "warm").part(0, 100)
    slow, fast = ObjectLookupsAsOf(model), ObjectLookups(model)

    def ask(lookups: Lookups, questions: Questions, _batch: int, seconds: float) -> Pass:
        call_seconds = 1.0 if lookups is slow else 1e-6
        n_calls = min(len(questions), int(min(seconds / call_seconds, 1e9)) + 1)
        return Pass(n_calls, call_seconds * n_calls, [call_seconds] * n_calls)

    monkeypatch.setattr(asking, "ask", ask)
    ways = (slow, fast) if slow_first else (fast, slow)
    turns = ask_in_turns(ways, [(plain.as_of(HEIGHT), plain)] * 4, batch=1, seconds=10)
    assert 10 <= turns.one.seconds + turns.other.seconds <= 12
    assert turns.other.names == turns.one.names
    assert turns.ratio == pytest.approx(1e6 if slow_first else 1e-6)
    speeds = turns.one.names_per_second, turns.other.names_per_second
    assert sorted(speeds) == pytest.approx([1.0, 1e6])


def test_no_questions_are_not_measured(model: MemorySchema) -> None:
    ways = (ObjectLookupsAsOf(model), ObjectLookups(model))
    with pytest.raises(NotMeasuredError, match="too few coins"):
        ask_in_turns(ways, [], batch=10, seconds=60)


def test_two_ways_are_asked_once_each_in_front_where_there_is_no_time(
    model: MemorySchema, small: Truth
) -> None:
    plain = small.questions("any", "warm")
    ways = (ObjectLookupsAsOf(model), ObjectLookups(model))
    rounds = iter([(plain.as_of(HEIGHT), plain)] * 3)
    turns = ask_in_turns(ways, rounds, batch=10, seconds=0)
    assert (turns.one.names, turns.other.names) == (20, 20)  # as many, however slow the one is
    assert len([*rounds]) == 1
