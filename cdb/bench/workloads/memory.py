"""The load with memory, page cache included, for a third of the closed database, and without limit.

Neither has the text in the page cache beforehand. The limit is a control group's.
"""

from dataclasses import replace
from pathlib import Path

from cdb.bench import page_cache
from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.loading import load
from cdb.lab.places import place
from cdb.lab.process import Limits, fresh_within
from cdb.lab.profile import FAST
from cdb.process.meter import size_bytes

ORDER = 130

PART = 3


def measure(database: Database) -> list[Case]:
    """See the module."""
    limit_bytes = size_bytes(Path(database.path)) // PART
    limited = _load_within(limit_bytes, database)
    unlimited = _load_within(None, database)
    figures = {
        "limited_seconds": limited,
        "unlimited_seconds": unlimited,
        "ratio": limited / unlimited,
        "limit_bytes": limit_bytes,
    }
    return [Case("memory", figures=figures)]


def _load_within(memory_bytes: int | None, database: Database) -> float:
    profile = replace(FAST, memory_bytes=memory_bytes)
    with place(profile, Path(database.path).parent, 0) as there:
        other = replace(database, path=str(there.directory / "db"))
        return fresh_within(Limits(there.join), load_from_disk, other)


def load_from_disk(database: Database) -> float:
    """Load the replay, whose text is not in memory, in this process. Returns the seconds."""
    page_cache.drop([Path(database.replay)])
    seconds = load(database).figures["wall_seconds"]
    return seconds or 0.0
