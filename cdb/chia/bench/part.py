"""A part of a node's week: what it takes, and what its answers come to."""

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from cdb.bench.figures import Figures, Usage, latency_figures
from cdb.bench.stopwatch import Stopwatch
from cdb.chia.bench.questions import digest
from cdb.chia.bench.timing import Lateness

_USAGE = ("written_bytes", "disk_written_bytes", "device_written_bytes", "device_read_bytes")


class Part:
    """Begins when it is made.

    loop: watched since then. calls, hints: what all calls took, and of these those for hints.
    blocks, reorgs: what each took. directory: the store's.
    """

    def __init__(self, directory: Path, loop: Lateness) -> None:
        self.loop = loop
        self.calls, self.hints = Stopwatch(), Stopwatch()
        self.blocks, self.reorgs = Stopwatch(), Stopwatch()
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
            **self.calls.figures(),
            "hints_wall_seconds": self.hints.wall_seconds,
            **{name: usage[name] for name in (*_USAGE, "syncs")},
            **_latencies("block", self.blocks),
            **_latencies("reorg", self.reorgs),
            **latency_figures("late", self.loop.late),
        }


def _latencies(what: str, watch: Stopwatch) -> Figures:
    """None of what did not come."""
    return latency_figures(what, watch.laps) if watch.laps else {}
