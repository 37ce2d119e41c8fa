"""Loading a replay, with the time of each phase."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cdb.bench.figures import Figures, Usage, latency_figures, summed
from cdb.bench.workload import Database
from cdb.contents.loader import Loader, LoadProgress
from cdb.lab.process import WrongAnswerError
from cdb.process.meter import peak_rss_bytes
from cdb.process.read_ahead import read_ahead
from cdb.schemas import Schema
from cdb.text.scanner import scan_packed

T = TypeVar("T")

SAMPLE_COINS = 50_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load took, and its samples: coins so far, and seconds since its beginning."""

    figures: Figures
    samples: list[tuple[int, float]]


def load(database: Database, meanwhile: Callable[[Schema], None] = lambda _: None) -> Loaded:
    """Load the replay into a new database, and close it.

    meanwhile: what to do after the last flush, out of the time and all figures.
    Raises WrongAnswerError when not all of the replay was loaded.
    """
    os.sync()  # what others wrote is not to be written back meanwhile
    directory = Path(database.path).parent
    usage, watch = Usage(directory), _Watch()
    samples: list[tuple[int, float]] = []
    with ExitStack() as closing, Path(database.replay).open("rb", buffering=0) as stream:
        schema = watch.timed("open", lambda: closing.enter_context(database.open()))
        loader = _TimedLoader(schema, flush_coins=database.flush_coins)
        packs = scan_packed(stream)
        if database.threads > 1:
            packs = read_ahead(packs)
        for progress in loader.load(watch.waits("parse", packs)):
            if progress.coins >= SAMPLE_COINS * (len(samples) + 1):
                samples.append((progress.coins, watch.seconds()))
        # The peak is that until here: meanwhile may map all of the database.
        seconds, taken, peak = watch.seconds(), usage.figures(), peak_rss_bytes()
        meanwhile(schema)
        usage = Usage(directory)
        watch.timed("close", closing.close)
    seconds += watch.phases["close"]
    watch.phases["flush"] = sum(loader.flush_seconds)
    _check_totals(loader.progress, database)
    accept = seconds - sum(watch.phases.values())
    return Loaded(
        {
            "wall_seconds": seconds,
            "coins_per_second": loader.progress.coins / seconds,
            "accept_seconds": accept,
            **{f"{phase}_seconds": taken for phase, taken in watch.phases.items()},
            **summed(taken, usage.figures()),
            "flushes": len(loader.flush_seconds),
            **latency_figures("flush", loader.flush_seconds),
            "peak_rss_bytes": peak,
        },
        samples,
    )


class _TimedLoader(Loader):
    """Keeps how long each flush takes; the last one may have nothing to do, and is none then."""

    def __init__(self, schema: Schema, *, flush_coins: int) -> None:
        super().__init__(schema, flush_coins=flush_coins)
        self.flush_seconds: list[float] = []

    def flush(self) -> None:
        """See Loader."""
        is_due = self.progress.accepted_index != self.progress.flushed_index
        start = time.perf_counter()
        super().flush()
        if is_due:
            self.flush_seconds.append(time.perf_counter() - start)


class _Watch:
    """The seconds since it was made, and those of phases."""

    def __init__(self) -> None:
        self.phases: dict[str, float] = {}
        self._start = time.perf_counter()

    def seconds(self) -> float:
        """Since it was made."""
        return time.perf_counter() - self._start

    def timed(self, phase: str, work: Callable[[], T]) -> T:
        """Do it, and add its time to a phase."""
        start = time.perf_counter()
        try:
            return work()
        finally:
            self.phases[phase] = self.phases.get(phase, 0.0) + time.perf_counter() - start

    def waits(self, phase: str, items: Iterable[T]) -> Iterator[T]:
        """The items; the time until each comes belongs to a phase."""
        rest = iter(items)
        end = object()
        while (item := self.timed(phase, lambda: next(rest, end))) is not end:
            yield item  # type: ignore[misc]


def _check_totals(progress: LoadProgress, database: Database) -> None:
    truth = database.truth
    loaded = (progress.blocks, progress.coins, progress.spends, progress.flushed_index)
    wanted = (truth.blocks, truth.coins, truth.spends, truth.newest_index)
    if loaded != wanted:
        names = "blocks, coins, spends, newest block"
        raise WrongAnswerError(f"{names}: it loaded {loaded} of {wanted}")
