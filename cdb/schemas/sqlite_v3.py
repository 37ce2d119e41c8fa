"""Coins in SQLite rows; a second SQLite table maps name → row id by its primary key.

    index/lookup.sqlite    coin_lookup(hash BLOB PRIMARY KEY, id INTEGER) WITHOUT ROWID

The keys are random, so an insert changes a random leaf of the B-tree: far smaller rows than
blockchain_v2's, but the same kind of write amplification.
"""

from functools import partial

from cdb.building import (
    BY_CREATION,
    COIN_ROWS,
    SQLITE_NOT_DURABLE,
    Limit,
    check_indexed,
    open_indexed,
    repair_indexed,
    sqlite_versions,
)
from cdb.rows.sqlite_lookup import SqliteLookup

SCHEMA = partial(open_indexed, "sqlite_v3", SqliteLookup)
HISTORY = BY_CREATION
SMALL = partial(SCHEMA, memtable_coins=20)
CHECKSUMMED = "db/FORMAT"
NOT_DURABLE = SQLITE_NOT_DURABLE
LIMITS = (
    *COIN_ROWS,
    Limit(
        "*",
        r"damage is served: db/index/lookup\.sqlite, .*verify finds it",
        "SQLite has no checksums: a name that is not found seems to be nobody's",
    ),
)
check = partial(check_indexed, "sqlite_v3", SqliteLookup)
repair = partial(repair_indexed, "sqlite_v3", SqliteLookup)
versions = sqlite_versions
