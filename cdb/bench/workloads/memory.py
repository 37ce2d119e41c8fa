"""The load with memory, page cache included, for a third of the closed database, and without limit.

Neither has the text in the page cache beforehand. The limit is a control group's.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from cdb.bench import page_cache
from cdb.bench.loading import load
from cdb.bench.workload import Case, Cases, Database
from cdb.lab.places import place
from cdb.lab.process import Limits, fresh_within
from cdb.lab.profile import FAST
from cdb.process.meter import size_bytes

PART = 3


@dataclass(frozen=True, slots=True)
class Seconds:
    """How long a load took."""

    seconds: float


def measure(database: Database) -> Cases:
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
    return Cases([Case("memory", figures=figures)])


def _load_within(memory_bytes: int | None, database: Database) -> float:
    profile = replace(FAST, memory_bytes=memory_bytes)
    with place(profile, Path(database.path).parent, 0) as there:
        other = replace(database, path=str(there.directory / "db"))
        return fresh_within(Limits(there.join), load_from_disk, other).seconds


def load_from_disk(database: Database) -> Seconds:
    """Load the replay, whose text is not in memory, in this process."""
    page_cache.drop([Path(database.replay)])
    seconds = load(database).figures["wall_seconds"]
    return Seconds(seconds or 0.0)
