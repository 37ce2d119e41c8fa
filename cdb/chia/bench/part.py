"""A part of a node's week: what it takes, and what its answers come to."""

from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any

from cdb.bench.figures import Figures, Usage, latency_figures
from cdb.chia.bench.questions import digest
from cdb.chia.bench.timing import Lateness, Stopwatch

_USAGE = ("written_bytes", "disk_written_bytes", "device_written_bytes", "device_read_bytes")


class Part:
    """Begins when it is made.

    loop: watched since then. calls, hints: what all calls took, and of these those for hints.
    blocks, reorgs: seconds of each. directory: the store's.
    """

    def __init__(self, directory: Path, loop: Lateness) -> None:
        self.loop = loop
        self.calls, self.hints = Stopwatch(), Stopwatch()
        self.blocks, self.reorgs = array("d"), array("d")
        self._answers = sha256()
        self._usage = Usage(directory)

    def tell(self, answers: Iterable[Any]) -> None:
        """Both stores have to give these."""
        self._answers.update(digest([*answers]).encode())

    @property
    def answers(self) -> str:
        """The digest of all that was told."""
        return self._answers.hexdigest()

    def figures(self) -> Figures:
        """So far."""
        usage = self._usage.figures()
        return {
            "wall_seconds": self.calls.wall_seconds,
            "cpu_seconds": self.calls.cpu_seconds,
            "hints_wall_seconds": self.hints.wall_seconds,
            **{name: usage[name] for name in (*_USAGE, "syncs")},
            **_latencies("block", self.blocks),
            **_latencies("reorg", self.reorgs),
            **latency_figures("late", self.loop.late),
        }


def _latencies(what: str, seconds: "array[float]") -> Figures:
    """None of what did not come."""
    return latency_figures(what, seconds) if seconds else {}


@contextmanager
def timed(seconds: "array[float]") -> Iterator[None]:
    """Note how long this takes."""
    start = perf_counter()
    yield
    seconds.append(perf_counter() - start)
