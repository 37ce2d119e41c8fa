"""Asking: one set of names, in batches, by one thread or several; every answer is checked."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from cdb.bench import page_cache
from cdb.bench.answers import BATCH_NAMES, Lookups, check_right
from cdb.bench.figures import Figures, latency_figures
from cdb.bench.questions import Questions
from cdb.lab.process import NotMeasuredError
from cdb.process.meter import database_files

ROUND_NAMES = 1_000  # for each thread: few enough for their answers to be kept until the check
ROUND_BATCHES = 8  # where there are several threads, so that their starts don't matter


@dataclass(frozen=True, slots=True)
class Pass:
    """How long it took to ask for so many names; calls: the seconds of each call."""

    names: int
    seconds: float
    calls: list[float]

    def __add__(self, other: "Pass") -> "Pass":
        return Pass(
            self.names + other.names, self.seconds + other.seconds, self.calls + other.calls
        )

    def first(self, other: "Pass") -> "Pass":
        """What of it asked for the names that another one asked for, too."""
        calls = self.calls[: len(other.calls)]
        return self if len(calls) == len(self.calls) else Pass(other.names, sum(calls), calls)

    @property
    def names_per_second(self) -> float:
        """All names, over all of the time."""
        return self.names / self.seconds

    def figures(self) -> Figures:
        """Its figures, as results name them."""
        return {
            "names_per_second": self.names_per_second,
            **latency_figures("call", self.calls),
        }


def warm_up(lookups: Lookups, database: Path, questions: Questions, seconds: float) -> None:
    """Have a database's files in the page cache, as far as they fit, and ask for some names."""
    for path in database_files(database):
        page_cache.fill(path)
    ask(lookups, questions, BATCH_NAMES, seconds)


def ask(
    lookups: Lookups, questions: Questions, batch: int, seconds: float, threads: int = 1
) -> Pass:
    """Ask for the names, or for as many as there is time for, which is one batch at least.

    A part is asked for, and its answers are checked out of the time, before the next one.
    """
    begins = range(0, len(questions), batch)
    share = max(ROUND_NAMES // batch, ROUND_BATCHES if threads > 1 else 1)
    names, taken, calls = 0, 0.0, list[float]()
    with ThreadPoolExecutor(threads) as pool:
        run = pool.map if threads > 1 else map
        for start in range(0, len(begins), threads * share):
            # Those of a round alone: where memory is short, questions shall not be most of it.
            part_of_all = [
                questions.part(at, at + batch) for at in begins[start : start + threads * share]
            ]
            shares = [part_of_all[thread::threads] for thread in range(threads)]
            answered, spent = _ask_each(run, lookups, shares, seconds - taken)
            taken += spent
            for answers in answered:
                for part, answer, call in answers:
                    check_right(lookups, part, answer)
                    names += len(part)
                    calls.append(call)
            if taken >= seconds:
                break
    return Pass(names, taken, calls)


@dataclass(frozen=True, slots=True)
class Turns:
    """Two ways in which the same was asked for.

    ratio: how many times as long the one takes as the other. Who asks second finds what the first
    has brought near, which may make more of a difference than the ways do: so it is the geometric
    mean of two medians, of the rounds in which the one came first and of those in which the other
    did.
    """

    one: Pass
    other: Pass
    ratio: float


def ask_in_turns(
    ways: tuple[Lookups, Lookups],
    rounds: Iterable[tuple[Questions, Questions]],
    batch: int,
    seconds: float,
) -> Turns:
    """Ask for the same names in two ways, in rounds, as far as there is time for both.

    A round has the questions of each way. The one goes first in one round and last in the next; the
    second asks for the same names, as far as it has time. What it had none for does not count.
    There are two rounds at least, where there are questions for them.
    """
    passes = [Pass(0, 0.0, []), Pass(0, 0.0, [])]
    ratios: tuple[list[float], list[float]] = ([], [])  # by who came first
    for number, asked in enumerate(rounds):
        first = number % 2
        left = seconds - sum(each.seconds for each in passes)
        done = ask(ways[first], asked[first], batch, left / 2)
        same = asked[1 - first].part(0, done.names)
        again = ask(ways[1 - first], same, batch, left / 2)
        done = done.first(again)
        passes[first] += done
        passes[1 - first] += again
        of_first = median(done.calls) / median(again.calls)
        ratios[first].append(1 / of_first if first else of_first)
        if number > 0 and sum(each.seconds for each in passes) >= seconds:
            break
    if not passes[0].names:
        raise NotMeasuredError("the replay has too few coins")
    one, other = passes
    return Turns(one, other, geometric_mean(median(each) for each in ratios if each))


Run = Callable[..., Iterable[Any]]
Answered = list[tuple[Questions, Any, float]]


def _ask_each(
    run: Run, lookups: Lookups, shares: Sequence[Sequence[Questions]], seconds: float
) -> tuple[list[Answered], float]:
    """What each thread was answered, and the seconds that it took them all."""
    prepared = [[(part, lookups.arguments(part)) for part in share] for share in shares]
    start = time.perf_counter()
    deadline = start + seconds

    def ask_share(share: Sequence[tuple[Questions, tuple[Any, ...]]]) -> Answered:
        answered = []
        for part, arguments in share:
            begun = time.perf_counter()
            answer = lookups.ask(*arguments)
            ended = time.perf_counter()
            answered.append((part, answer, ended - begun))
            if ended > deadline:
                break
        return answered

    answered = list(run(ask_share, prepared))
    return answered, time.perf_counter() - start
