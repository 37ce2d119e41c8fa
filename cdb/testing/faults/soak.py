"""A soak: each kind of trial on each schema, over one seed after the other, until it is ended.

It is always the turn of the kind that has had the least time, and there of the schema that has: no
slow one starves the others. But every pair of a kind and a schema is tried once before any is tried
again, with the few faults that the tests make, where those make any.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from cdb.contract.limits import Limit
from cdb.testing.faults.attempt import (
    Attempt,
    BrokenPromise,
    Failure,
    Making,
    Untried,
    Verdict,
    break_off,
    ended,
)
from cdb.testing.faults.catalogue import CATALOGUE
from cdb.testing.faults.subjects import Subject

TICK_SECONDS = 0.5


@dataclass(frozen=True)
class Result:
    """How an attempt ended. limit: the known one that a failure shows; None if it isn't known."""

    schema: str
    attempt: Attempt
    verdict: Verdict
    limit: Limit | None
    seconds: float


@dataclass(eq=False)
class Pair:
    """A kind of trial and a schema. Its n-th attempt has the n-th seed."""

    trial: str
    schema: str
    subject: Subject
    begun: int = 0
    was_tried: bool = False
    has_failed: bool = False
    _seconds: float = 0.0
    _running: int = 0

    def begin(self, first_seed: int, now: float) -> Attempt:
        """What to try next, from now on."""
        # A trial ends at its first failure: of one that has failed, small ones cover more.
        is_small = not self.begun or self.has_failed
        most = CATALOGUE[self.trial].share if is_small else 0
        attempt = Attempt(self.trial, self.subject.spec, first_seed + self.begun, most or None)
        self.begun += 1
        self._running += 1
        self._seconds -= now
        return attempt

    def end(self, now: float) -> None:
        """An attempt ended."""
        self._running -= 1
        self._seconds += now

    def seconds(self, now: float) -> float:
        """The time that it has had."""
        return self._seconds + self._running * now


class Rotation:
    """Whose turn it is. pairs: what is left to try."""

    def __init__(self, trials: Sequence[str], subjects: Mapping[str, Subject]) -> None:
        schemas = list(subjects)
        self.pairs = [
            Pair(trial, schema, subjects[schema])
            for shift in range(len(schemas))
            for n, trial in enumerate(trials)
            for schema in [schemas[(n + shift) % len(schemas)]]
        ]

    def next(self, now: float) -> Pair | None:
        """None when nothing is left."""
        seconds = {pair: pair.seconds(now) for pair in self.pairs}
        kinds: dict[str, float] = {}
        for pair, each in seconds.items():
            kinds[pair.trial] = kinds.get(pair.trial, 0.0) + each
        return min(
            self.pairs,
            key=lambda pair: (pair.begun > 0, kinds[pair.trial], seconds[pair]),
            default=None,
        )

    def drop(self, pair: Pair) -> None:
        """It can't be tried."""
        if pair in self.pairs:
            self.pairs.remove(pair)


def take_turns(
    rotation: Rotation,
    *,
    first_seed: int,
    jobs: int,
    time_limit_seconds: float,
    count: int | None = None,
) -> Generator[Result | None, None, None]:
    """Give each result as it comes, until so many attempts were made, or nothing is left to try.

    At least twice a second it gives something, None where nothing ended. jobs: how many attempts
    run at a time. time_limit_seconds: one that takes longer has failed. What is broken off, when
    this is closed, gives no result.
    """
    begun = 0
    running: dict[Making, Pair] = {}
    try:
        while True:
            while len(running) < jobs and begun != count:
                pair = rotation.next(monotonic())
                if pair is None:
                    break
                begun += 1
                attempt = pair.begin(first_seed, monotonic())
                running[Making(attempt, time_limit_seconds)] = pair
            if not running:
                return
            yield None
            for making, verdict in ended(running, TICK_SECONDS):
                now, pair = monotonic(), running.pop(making)
                pair.end(now)
                yield _result(rotation, pair, making.attempt, verdict, now - making.since)
    finally:
        break_off(running)


def _result(
    rotation: Rotation, pair: Pair, attempt: Attempt, verdict: Verdict, seconds: float
) -> Result:
    if isinstance(verdict, Untried):
        if pair.was_tried:
            problem = f"it could be tried before, and now: {verdict.reason}"
            verdict = Failure(problem, attempt.command)
        else:
            rotation.drop(pair)
    else:
        pair.was_tried = True
    pair.has_failed |= isinstance(verdict, Failure)
    limit = None
    if isinstance(verdict, BrokenPromise):
        limit = pair.subject.limit(pair.trial, verdict.finding)
    return Result(pair.schema, attempt, verdict, limit, seconds)
