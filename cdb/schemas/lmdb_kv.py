"""Everything in LMDB, one B-tree file: coins, spends and blocks; lmdb_kv is the same.

The layout interval in LMDB, by cdb.coin_set; docs/schemas/lmdb_kv.md draws its keys and values.
"""

from functools import partial
from typing import TYPE_CHECKING

from cdb.coin_set import schema
from cdb.coin_set.binding import PREFIX
from cdb.coin_set.schema import CoinSetSchema, IndexedCoinSetSchema, Kind, open_coin_set
from cdb.durability import Durability
from cdb.history import BY_NAME
from cdb.indexed import PUZZLE_HASH
from cdb.limits import DAMAGES, OLDER_PROMISE, Limit
from cdb.native import lmdb_engine

__all__ = [
    "CHECKSUMMED",
    "DEFAULT_PATH",
    "DURABILITIES",
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

DEFAULT_PATH = "lmdb_kv.cdb"
DURABILITIES = (Durability.POWER, Durability.PROCESS)
"""Without any sync a power cut would leave a file that is no database any more."""
OPTIONS = {name: value for name, value in schema.OPTIONS.items() if name != "cache_mb"}
"""The cache is the kernel's."""
KIND = Kind(
    "interval@lmdb",
    lmdb_engine("cdb.coin_set._kv_lmdb", PREFIX),
    page_bytes=2 * 4096,
    most_page_bytes=512 << 20,
)


class LmdbKvSchema(CoinSetSchema):
    """See CoinSetSchema."""

    kind = KIND


class IndexedLmdbKvSchema(IndexedCoinSetSchema):
    """See IndexedCoinSetSchema."""

    kind = KIND


SCHEMA = partial(open_coin_set, LmdbKvSchema, IndexedLmdbKvSchema)
INDEXED = partial(IndexedLmdbKvSchema, index=PUZZLE_HASH)
HISTORY = BY_NAME
SMALL = partial(SCHEMA, commit_entries=40, ingest_entries=15)
CHECKSUMMED = "db/(FORMAT|NEWEST)"
NOT_DURABLE = ("*/lock.mdb",)
"""LMDB's table of readers."""
LIMITS = (
    Limit(
        "*",
        r"damage is served: db/db/data\.mdb, .*verify finds it",
        "LMDB has no checksums: a page of its B-trees that leads elsewhere hides keys, until verify"
        " asks for all that the blocks hold",
    ),
    *(
        Limit(
            damaged,
            "^its process ends with -11: ",
            "LMDB believes what a page says of itself, and reads where that leads",
        )
        for damaged in DAMAGES
    ),
    Limit(
        "stale",
        r"damage is served: db/db/data\.mdb, whole-of-step-",
        "one file is all that there is: put back as it once was, it is the database of then, unless"
        " NEWEST has promised more",
    ),
    *(
        Limit(
            trial,
            r"it is noticed: .*data\.mdb: "
            "(MDB_INVALID|Input/output error|Interrupted system call|the disk is full)",
            "LMDB makes no second call for the rest, but refuses: its error costs nothing that was"
            " flushed",
        )
        for trial in ("short*", "eintr")
    ),
    OLDER_PROMISE,
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
