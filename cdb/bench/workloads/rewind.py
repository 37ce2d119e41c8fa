"""Rewinds, durable, one after the other: each begins at the block where the one before ended.

Coins are those that it took back. Afterwards the blocks are accepted again, out of the time. What
would go back further than a third of the replay's blocks is not measured.
"""

from cdb.bench.answers import check_gone, check_newest
from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.stopwatch import Stopwatch
from cdb.bench.tail import packs_of
from cdb.bench.truth import REWOUND_HEIGHTS
from cdb.schemas import Schema

ORDER = 90

CHECKED_COINS = 50_000  # after a rewind of more, not each of them is asked for


def measure(database: Database) -> list[Case]:
    """See the module."""
    truth = database.truth
    cases = []
    with database.open() as schema:
        newest = truth.newest_index
        for heights, target in zip(REWOUND_HEIGHTS, truth.rewound_to, strict=False):
            cases.append(_rewind(database, schema, heights, target, newest))
            newest = target
        database.accept_tail(schema)
    reason = "it would take back more than a third of the replay's blocks"
    for heights in REWOUND_HEIGHTS[len(cases) :]:
        cases.append(Case.not_measured("rewind", {"heights": heights}, reason))
    return cases


def _rewind(database: Database, schema: Schema, heights: int, target: int, newest: int) -> Case:
    tail = database.truth.tail
    coins = sum(packed.n_confirms for packed in packs_of(tail, target, newest))
    watch = Stopwatch()
    watch.time(schema.rewind_to_block_index, target)
    check_newest(schema, target)
    if coins <= CHECKED_COINS:
        check_gone(schema, packs_of(tail, target, newest))
    database.check_coins(schema, target)
    figures = {"milliseconds": 1_000 * watch.wall_seconds, "coins": coins}
    return Case("rewind", {"heights": heights}, figures=figures)
