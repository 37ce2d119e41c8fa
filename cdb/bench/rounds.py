"""Several runs: the order of who is measured, and what their figures come to."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


def rotated(names: Sequence[str], by: int) -> list[str]:
    """The names, beginning further on in each round, so that none has always the same neighbour."""
    start = by % len(names)
    return [*names[start:], *names[:start]]
