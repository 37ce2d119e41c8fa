"""Coins by name, in the order in which they were made: coins from the middle of the chain.

As read_random otherwise, in batches of 1,000.
"""

from pathlib import Path

from cdb.bench.answers import BATCH_NAMES, fastest_lookups
from cdb.bench.asking import ask, warm_up
from cdb.bench.case import Case
from cdb.bench.cold import cold_case
from cdb.bench.database import Database

ORDER = 30

SECONDS, QUICK_SECONDS = 0.75, 0.05


def measure(database: Database) -> list[Case]:
    """See the module."""
    before, asked, cold = (
        database.truth.questions("sequence", purpose) for purpose in ("warm_up", "warm", "cold")
    )
    seconds = QUICK_SECONDS if database.quick else SECONDS
    with database.open() as schema:
        lookups = fastest_lookups(schema)
        warm_up(lookups, Path(database.path), before, seconds)
        done = ask(lookups, asked, BATCH_NAMES, seconds)
    warm, from_disk = ({"batch": BATCH_NAMES, "cache": cache} for cache in ("warm", "cold"))
    return [
        Case("read_sequential", warm, figures=done.figures()),
        cold_case(database, "read_sequential", from_disk, cold),
    ]
