"""Everything in RocksDB: coins, spends and blocks, without SQLite; rocks_kv is the same.

The layout interval in RocksDB, by cdb.coin_set; docs/schemas/rocks_kv.md draws its keys and values.
"""

from functools import partial
from typing import TYPE_CHECKING

from cdb.coin_set.binding import PREFIX
from cdb.coin_set.schema import (
    OPTIONS,
    CoinSetSchema,
    IndexedCoinSetSchema,
    Kind,
    open_coin_set,
)
from cdb.history import BY_NAME
from cdb.indexed import PUZZLE_HASH
from cdb.limits import OLDER_PROMISE, ROCKSDB, ROCKSDB_NOT_DURABLE, Limit
from cdb.native import rocksdb_engine

__all__ = [
    "CHECKSUMMED",
    "DEFAULT_PATH",
    "HISTORY",
    "INDEXED",
    "KIND",
    "LIMITS",
    "NOT_DURABLE",
    "OPTIONS",
    "SCHEMA",
    "SMALL",
    "check",
    "missing",
    "repair",
    "versions",
]

DEFAULT_PATH = "rocks_kv.cdb"
KIND = Kind("rocks_kv", rocksdb_engine("cdb.coin_set._kv_rocksdb", PREFIX))


class RocksKvSchema(CoinSetSchema):
    """See CoinSetSchema."""

    kind = KIND


class IndexedRocksKvSchema(IndexedCoinSetSchema):
    """See IndexedCoinSetSchema."""

    kind = KIND


SCHEMA = partial(open_coin_set, RocksKvSchema, IndexedRocksKvSchema)
INDEXED = partial(IndexedRocksKvSchema, index=PUZZLE_HASH)
HISTORY = BY_NAME
SMALL = partial(SCHEMA, commit_entries=40, ingest_entries=15)
CHECKSUMMED = "db/(FORMAT|NEWEST)"
NOT_DURABLE = ROCKSDB_NOT_DURABLE
LIMITS = (
    Limit(
        "*",
        r"damage is served: db/db/\d+\.log, ",
        "RocksDB takes damage in its log for the log's torn end, and leaves out the commits behind"
        " it",
    ),
    Limit(
        "*",
        r"damage is served: db/db/MANIFEST-\d+, ",
        "RocksDB takes a manifest that is cut, or an older one, for the whole; NEWEST knows only"
        " what a close or a large commit has promised",
    ),
    OLDER_PROMISE,
    *ROCKSDB,
)
check = KIND.check
repair = KIND.repair
missing = KIND.engine.missing
versions = KIND.versions

if TYPE_CHECKING:
    from cdb.schemas.protocol import Check, Repair, SchemaFactory

    _opens: SchemaFactory = SCHEMA
    _checks: Check = check
    _repairs: Repair = repair
