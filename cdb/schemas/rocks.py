"""Coins in SQLite rows; RocksDB maps name → row id.

    index/    a RocksDB database: key = name (32 bytes), value = row id

Names come in sorted runs, which RocksDB takes in as files and merges in the background, so that
random keys become sequential writes.
"""

from functools import partial

from cdb.building import (
    BY_CREATION,
    COIN_ROWS,
    ROCKSDB,
    ROCKSDB_NOT_DURABLE,
    SQLITE_NOT_DURABLE,
    check_indexed,
    open_indexed,
    repair_indexed,
    sqlite_versions,
)
from cdb.rows.rocks_index import RocksIndex, load, missing, version

__all__ = [
    "CHECKSUMMED",
    "HISTORY",
    "LIMITS",
    "NOT_DURABLE",
    "SCHEMA",
    "SMALL",
    "check",
    "missing",
    "repair",
    "versions",
]

SCHEMA = partial(open_indexed, "rocks", RocksIndex, load_engine=load)
HISTORY = BY_CREATION
SMALL = partial(SCHEMA, memtable_coins=20)
CHECKSUMMED = "db/FORMAT"
NOT_DURABLE = (*SQLITE_NOT_DURABLE, *ROCKSDB_NOT_DURABLE)
LIMITS = (*COIN_ROWS, *ROCKSDB)
check = partial(check_indexed, "rocks", RocksIndex, load_engine=load)
repair = partial(repair_indexed, "rocks", RocksIndex, load_engine=load)


def versions() -> list[str]:
    """See cdb.schemas."""
    return [*sqlite_versions(), version()]
