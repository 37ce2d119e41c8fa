"""Runs in rounds, each in a process of its own, and what they come to."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cdb.bench.process import NotMeasuredError, WorkloadError

F = TypeVar("F")
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Spread:
    """The least, the middle and the greatest of several runs."""

    min: float
    median: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """At least one value."""
        return cls(min(values), statistics.median(values), max(values))


@dataclass(slots=True)
class Samples(Generic[F]):
    """The figures of each run; or why there are none: an error, or a reason not to measure."""

    runs: list[F] = field(default_factory=list)
    error: str | None = None
    not_measured: str | None = None

    @property
    def complete(self) -> bool:
        """Whether every run has figures."""
        return self.error is None and self.not_measured is None

    def add(self, run: Callable[[], F]) -> None:
        """Run once more, unless a run has failed."""
        if not self.complete:
            return
        try:
            self.runs.append(run())
        except NotMeasuredError as error:
            self.not_measured = str(error)
        except WorkloadError as error:
            self.fail(str(error))

    def fail(self, error: str) -> None:
        """Void all runs."""
        self.error = error


def rotated(names: Sequence[str], by: int) -> list[str]:
    """The names, beginning further on in each round, so that none has always the same neighbour."""
    start = by % len(names)
    return [*names[start:], *names[:start]]


def in_rounds(
    contestants: Mapping[str, Callable[[], F]], rounds: int, begin: Callable[[int, str], None]
) -> dict[str, Samples[F]]:
    """Run each once a round. begin is told the number of runs that were made, and who is next."""
    samples = {name: Samples[F]() for name in contestants}
    made = 0
    for each in range(rounds):
        for name in rotated(list(contestants), each):
            begin(made, name)
            samples[name].add(contestants[name])
            made += 1
    return samples
