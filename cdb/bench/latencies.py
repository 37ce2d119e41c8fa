"""How long one of many took."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Latencies:
    """Of many, in microseconds. Percentiles are of nearest rank: times that were measured."""

    p50_microseconds: float
    p99_microseconds: float
    max_microseconds: float


def latencies(seconds: Sequence[float]) -> Latencies:
    """Of at least one time."""
    ordered = sorted(seconds)

    def nearest_rank(percent: int) -> float:
        return ordered[math.ceil(len(ordered) * percent / 100) - 1] * 1e6

    return Latencies(nearest_rank(50), nearest_rank(99), nearest_rank(100))
