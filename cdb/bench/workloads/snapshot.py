"""A load while a snapshot is open: its time, and how the files grow, against a load without one.

The snapshot is blocks(), of which one block was taken: it shows that moment as long as it is open,
and what it shows has to be kept. Loaded are the replay's last 170,000 coins, packed and parsed
beforehand, with the flushes of a load; after a rewind, out of the time; without a snapshot, with
one, and without again. The ratio is to the mean of the two. Files that are shorter, after a merge,
have grown by 0.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.tail import packs_of
from cdb.contract.packed import PackedBlocks
from cdb.lab.process import WrongAnswerError
from cdb.process.meter import size_bytes
from cdb.schemas import Schema

ORDER = 125


def measure(database: Database) -> list[Case]:
    """See the module."""
    truth = database.truth
    packs = list(packs_of(truth.tail, above=truth.accepted_index - 1))
    if truth.accepted_index not in {index for packed in packs for index in packed.indices}:
        return [Case.not_measured("snapshot", {}, "the replay has no block before its last ones")]
    with database.open() as schema:
        before, beside, after = (
            _load(database, schema, packs, has_snapshot=each) for each in (False, True, False)
        )
        database.check_coins(schema, truth.newest_index)
    coins = sum(packed.n_confirms for packed in packs) - packs[0].confirm_ends[0]
    figures = {
        "ratio": 2 * beside.seconds / (before.seconds + after.seconds),
        "coins_per_second": coins / beside.seconds,
        "growth_bytes": beside.growth_bytes,
        "plain_growth_bytes": (before.growth_bytes + after.growth_bytes) / 2,
    }
    return [Case("snapshot", figures=figures)]


@dataclass(frozen=True, slots=True)
class _Load:
    seconds: float
    growth_bytes: int


def _load(
    database: Database, schema: Schema, packs: list[PackedBlocks], *, has_snapshot: bool
) -> _Load:
    newest = database.truth.accepted_index
    schema.rewind_to_block_index(newest)
    path, watch = Path(database.path), Stopwatch()
    before_bytes = size_bytes(path)
    with _snapshot(schema, newest) if has_snapshot else nullcontext():
        watch.time(database.accept, schema, packs)
        return _Load(watch.wall_seconds, max(size_bytes(path) - before_bytes, 0))


@contextmanager
def _snapshot(schema: Schema, newest: int) -> Iterator[None]:
    """Of a chain up to this block; what it shows next at its end is the second block still."""
    shown = iter(schema.blocks())
    first = next(shown)
    yield
    second = next(shown, None)
    is_as_it_was = first.index == newest if second is None else second.index <= newest
    if not is_as_it_was:
        raise WrongAnswerError("a snapshot changed beside a load")
