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
    return Latencies(*(1e6 * nearest_rank(ordered, percent) for percent in (50, 99, 100)))


def nearest_rank(ordered: Sequence[float], percent: float) -> float:
    """Of times that ascend, the least that so many of them don't exceed."""
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]
