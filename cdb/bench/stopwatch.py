"""What calls take: the clock of all that is measured."""

from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Stopwatch:
    """Seconds by the clock of each call (laps), and of CPU of all, with all threads."""

    def __init__(self) -> None:
        self.laps = array("d")
        self.cpu_seconds = 0.0

    @property
    def wall_seconds(self) -> float:
        """Of all laps."""
        return sum(self.laps)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what this takes."""
        cpu, wall = process_time(), perf_counter()
        yield
        self.laps.append(perf_counter() - wall)
        self.cpu_seconds += process_time() - cpu

    def time(self, call: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """What the call gives."""
        with self.running():
            return call(*arguments, **named)

    def figures(self) -> dict[str, float | None]:
        """Of all laps together."""
        return {"wall_seconds": self.wall_seconds, "cpu_seconds": self.cpu_seconds}

    def means(self, number: int, per: str = "") -> dict[str, float | None]:
        """Of so many, in microseconds."""
        return {
            f"cpu_microseconds{per}": 1e6 * self.cpu_seconds / number,
            f"wall_microseconds{per}": 1e6 * self.wall_seconds / number,
        }
