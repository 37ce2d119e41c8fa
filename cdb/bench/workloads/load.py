"""A replay into a new database, from its opening to its close.

The text is in the page cache beforehand, and another thread reads, parses and names ahead. wall is
the sum of what the storing thread does: open, wait for parsed blocks, accept them, flush, close.
Between the last flush and the close, out of all that, coins are looked up: the unsettled cases of
read_random, and of historical.
"""

from pathlib import Path

from cdb.bench import page_cache
from cdb.bench.case import Case
from cdb.bench.database import Database
from cdb.bench.figures import on_disk, page_cache_bytes
from cdb.bench.loading import load
from cdb.bench.workloads import historical, read_random
from cdb.schemas import Schema

ORDER = 0


def measure(database: Database) -> list[Case]:
    """See the module."""
    keeps_contract = database.info.spec.keeps_contract
    more: list[Case] = []

    def look_up(schema: Schema) -> None:
        if keeps_contract:
            more.append(read_random.unsettled(database, schema))
            more.extend(historical.unsettled(database, schema))

    page_cache.fill(Path(database.replay))
    loaded = load(database, look_up)
    size = on_disk(database.path) | {"page_cache_bytes": page_cache_bytes(database.path)}
    return [Case("load", figures=loaded.figures | size, samples=loaded.samples), *more]
