"""Loading a replay, with the time of each phase."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from cdb.bench.database import Database
from cdb.bench.figures import Figures, Usage, latency_figures, summed
from cdb.bench.stopwatch import Stopwatch
from cdb.contents.loader import Loader, LoadProgress
from cdb.lab.process import WrongAnswerError, tell
from cdb.process.meter import peak_rss_bytes
from cdb.process.read_ahead import read_ahead
from cdb.schemas import FlushesBeside, Schema
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

    meanwhile: what to do after the last flush, out of the time and all figures. Each sample is
    told, too, see cdb.lab.process.
    Raises WrongAnswerError when not all of the replay was loaded.
    """
    os.sync()  # what others wrote is not to be written back meanwhile
    directory = Path(database.path).parent
    usage, watches = Usage(directory), defaultdict[str, Stopwatch](Stopwatch)
    samples: list[tuple[int, float]] = []
    start = perf_counter()
    with ExitStack() as closing, Path(database.replay).open("rb", buffering=0) as stream:
        schema = watches["open"].time(lambda: closing.enter_context(database.open()))
        loader = _TimedLoader(schema, flush_coins=database.flush_coins)
        packs = scan_packed(stream)
        if database.threads > 1:
            packs = read_ahead(packs)
        for progress in loader.load(_waited(watches["parse"], packs)):
            if progress.coins >= SAMPLE_COINS * (len(samples) + 1):
                samples.append((progress.coins, perf_counter() - start))
                tell(samples[-1])
        # The peak is that until here: meanwhile may map all of the database.
        seconds, taken, peak = perf_counter() - start, usage.figures(), peak_rss_bytes()
        meanwhile(schema)
        usage = Usage(directory)
        watches["close"].time(closing.close)
    seconds += watches["close"].wall_seconds
    watches["flush"] = loader.flushes
    _check_totals(loader.progress, database)
    phases = {f"{phase}_seconds": watch.wall_seconds for phase, watch in watches.items()}
    return Loaded(
        {
            "wall_seconds": seconds,
            "coins_per_second": loader.progress.coins / seconds,
            "accept_seconds": seconds - sum(phases.values()),
            **phases,
            **summed(taken, usage.figures()),
            "flushes": len(loader.flushes.laps),
            **latency_figures("flush", loader.flushes.laps),
            "peak_rss_bytes": peak,
        },
        samples,
    )


class _TimedLoader(Loader):
    """Keeps what each flush takes of this thread; the last may have nothing to do, and is none."""

    def __init__(self, schema: Schema, *, flush_coins: int) -> None:
        super().__init__(schema, flush_coins=flush_coins)
        self.flushes = Stopwatch()

    def flush(self) -> None:
        """See Loader."""
        is_due = self.progress.accepted_index != self.progress.flushed_index
        (self.flushes if is_due else Stopwatch()).time(super().flush)

    def flush_beside(self, beside: FlushesBeside) -> None:
        """See Loader."""
        self.flushes.time(super().flush_beside, beside)


def _waited(watch: Stopwatch, items: Iterable[T]) -> Iterator[T]:
    """The items; watched is the time until each comes."""
    rest = iter(items)
    end = object()
    while (item := watch.time(next, rest, end)) is not end:
        yield item  # type: ignore[misc]


def _check_totals(progress: LoadProgress, database: Database) -> None:
    truth = database.truth
    loaded = (progress.blocks, progress.coins, progress.spends, progress.flushed_index)
    wanted = (truth.blocks, truth.coins, truth.spends, truth.newest_index)
    if loaded != wanted:
        names = "blocks, coins, spends, newest block"
        raise WrongAnswerError(f"{names}: it loaded {loaded} of {wanted}")
