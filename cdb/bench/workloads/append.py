"""Following the tip: durable commits of about 45, 5,000 and 50,000 coins, in blocks of about 45.

The coins are the replay's last ones, after a rewind to before them. Commits come in turns with a
bare loop that appends the same bytes to a file and calls fdatasync; ratio is that of the medians.
A case ends with its commits, or when its time is up.
"""

import os
import statistics
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

from cdb.bench.answers import check_newest, check_there
from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.figures import latency_figures
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.tail import packs_of
from cdb.contents.loader import accept
from cdb.contract.durability import Durability
from cdb.contract.packed import PackedBlocks
from cdb.schemas import Schema

ORDER = 100

COMMITS = {45: 300, 5_000: 6, 50_000: 2}
SECONDS, QUICK_SECONDS = 6.0, 0.5
TURN_COINS = 2_250  # of one kind, then of the other, so that both meet the same moods of the disk
CHECKED_BLOCKS = 20  # of each commit

Commit = list[PackedBlocks]
_sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


def measure(database: Database) -> list[Case]:
    """See the module."""
    truth, durable = database.truth, database.durability == Durability.POWER.value
    path = Path(f"{database.path}.append")
    with database.open() as schema:
        schema.rewind_to_block_index(truth.accepted_index)
        with _appending(path, durable=durable) as append:
            appending = _Appending(database, schema, append)
            cases = [appending.case(coins, count) for coins, count in COMMITS.items()]
        schema.rewind_to_block_index(truth.accepted_index)
        database.accept_tail(schema)
    return cases


class _Appending:
    """Commits small blocks, each once, to a schema and to a bare file."""

    def __init__(
        self, database: Database, schema: Schema, append: Callable[[Commit], None]
    ) -> None:
        self._seconds = QUICK_SECONDS if database.quick else SECONDS
        self._blocks = list(packs_of(database.truth.small))
        self._schema = schema
        self._append = append

    def case(self, coins: int, count: int) -> Case:
        """So many commits of so many coins."""
        turn = max(TURN_COINS // coins, 1)
        commits = islice(iter(lambda: self._take(coins), []), count)
        made: list[Commit] = []
        taken, bare = Stopwatch(), Stopwatch()
        while (left := self._seconds - taken.wall_seconds - bare.wall_seconds) > 0:
            part = list(islice(commits, turn))
            if not part:
                break
            n = self._commit_until(part, taken, taken.wall_seconds + left)
            self._blocks[:0] = chain(*part[n:])
            for commit in part[:n]:
                bare.time(self._append, commit)
            made += part[:n]
        if not made:
            reason = "the replay's last part has too few coins"
            return Case.not_measured("append", {"commit_coins": coins}, reason)
        self._check(made)
        bare_seconds = statistics.median(bare.laps)
        figures = {
            "commits": len(made),
            "coins_per_second": sum(each.n_confirms for each in chain(*made)) / taken.wall_seconds,
            **latency_figures("commit", taken.laps),
            "bare_p50_microseconds": 1e6 * bare_seconds,
            "ratio": statistics.median(taken.laps) / bare_seconds,
        }
        return Case("append", {"commit_coins": coins}, figures=figures)

    def _commit_until(self, commits: list[Commit], watch: Stopwatch, seconds: float) -> int:
        """How many were committed, one at least, until the watch tells so many seconds."""
        for n, commit in enumerate(commits, 1):
            watch.time(self._commit, commit)
            if watch.wall_seconds >= seconds:
                return n
        return len(commits)

    def _take(self, coins: int) -> Commit:
        """The next blocks, which have at least so many coins; nothing when too few are left."""
        commit = []
        while coins > 0:
            if not self._blocks:
                return []
            packed = self._blocks.pop(0)
            stop = min(bisect_left(packed.confirm_ends, coins) + 1, len(packed))
            if stop < len(packed):
                self._blocks.insert(0, packed.part(stop, len(packed)))
            commit.append(packed.part(0, stop))
            coins -= commit[-1].n_confirms
        return commit

    def _commit(self, commit: Commit) -> None:
        for packed in commit:
            accept(self._schema, packed)
        self._schema.flush()

    def _check(self, made: list[Commit]) -> None:
        check_newest(self._schema, made[-1][-1].indices[-1])
        first = (commit[0] for commit in made)
        check_there(self._schema, (each.part(0, min(CHECKED_BLOCKS, len(each))) for each in first))


@contextmanager
def _appending(path: Path, *, durable: bool) -> Iterator[Callable[[Commit], None]]:
    """To a new file, which is gone afterwards."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC)

    def append(commit: Commit) -> None:
        os.writev(descriptor, [part for each in commit for part in (each.spends, each.confirms)])
        if durable:
            _sync(descriptor)

    try:
        yield append
    finally:
        os.close(descriptor)
        path.unlink()
