"""A soak: each kind of trial on each schema, over one seed after the other, until it is ended.

It is always the turn of the kind that has had the least time, and there of the schema that has: no
slow one starves the others. But every pair of a kind and a schema is tried once before any is tried
again, with the few faults that the tests make, where those make any.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

from cdb.contract.limits import Limit
from cdb.testing.faults.attempt import Attempt, BrokenPromise, Failure, Untried, Verdict
from cdb.testing.faults.catalogue import CATALOGUE
from cdb.testing.faults.subjects import Subject


@dataclass(frozen=True)
class Result:
    """How an attempt ended. limit: the known one that a failure shows; None if it isn't known."""

    schema: str
    attempt: Attempt
    verdict: Verdict
    limit: Limit | None
    seconds: float


Told = Callable[[Result], None]


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


async def take_turns(
    rotation: Rotation,
    told: Told,
    *,
    first_seed: int,
    jobs: int,
    time_limit_seconds: float,
    count: int | None = None,
) -> None:
    """Try until this is cancelled, or so many attempts were made, or nothing is left to try.

    jobs: how many attempts run at a time. time_limit_seconds: one that takes longer has failed.
    told: takes each result as it comes. What is broken off at the end gives none.
    """
    begun = 0

    async def work() -> None:
        nonlocal begun
        while begun != count and (pair := rotation.next(monotonic())) is not None:
            begun += 1
            since = monotonic()
            attempt = pair.begin(first_seed, since)
            verdict = await attempt.make(time_limit_seconds)
            ended = monotonic()
            pair.end(ended)
            told(_result(rotation, pair, attempt, verdict, ended - since))

    async with asyncio.TaskGroup() as group:
        for _ in range(jobs):
            group.create_task(work())


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
        limit = pair.subject.limit(pair.trial, verdict.problem)
    return Result(pair.schema, attempt, verdict, limit, seconds)
