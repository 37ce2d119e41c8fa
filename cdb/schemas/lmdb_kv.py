"""Everything in LMDB, one B-tree file: coins, spends and blocks; lmdb_kv is the same.

The layout interval in LMDB, by cdb.coin_set; docs/schemas/lmdb_kv.md draws its keys and values.
"""

from functools import partial
from typing import TYPE_CHECKING

from cdb.coin_set import schema
from cdb.coin_set.binding import PREFIX
from cdb.coin_set.schema import CoinSetSchema, Kind
from cdb.durability import Durability
from cdb.native import NativeEngine

__all__ = [
    "DEFAULT_PATH",
    "DURABILITIES",
    "KIND",
    "OPTIONS",
    "SCHEMA",
    "SMALL",
    "check",
    "missing",
    "repair",
]

DEFAULT_PATH = "lmdb_kv.cdb"
DURABILITIES = (Durability.POWER, Durability.PROCESS)
"""Without any sync a power cut would leave a file that is no database any more."""
OPTIONS = {name: value for name, value in schema.OPTIONS.items() if name != "cache_mb"}
"""The cache is the kernel's."""
KIND = Kind(
    "interval@lmdb",
    NativeEngine(
        "cdb.coin_set._interval_lmdb",
        "the LMDB engine",
        "LMDB, OpenSSL and xxHash (Debian, Ubuntu: liblmdb-dev, libssl-dev and libxxhash-dev, with"
        " g++ and python3-dev; Homebrew: lmdb, openssl and xxhash)",
        prefix=PREFIX,
    ),
)


class LmdbKvSchema(CoinSetSchema):
    """See CoinSetSchema."""

    kind = KIND


SCHEMA = LmdbKvSchema
SMALL = partial(SCHEMA, commit_entries=40, ingest_entries=15)
check = KIND.check
repair = KIND.repair
missing = KIND.engine.missing

if TYPE_CHECKING:
    from cdb.schemas.protocol import (
        AcceptsPacked,
        Check,
        ReadsPacked,
        Repair,
        SchemaFactory,
        Settles,
    )

    _opens: SchemaFactory = LmdbKvSchema
    _accepts: type[AcceptsPacked] = LmdbKvSchema
    _reads: type[ReadsPacked] = LmdbKvSchema
    _settles: type[Settles] = LmdbKvSchema
    _checks: Check = check
    _repairs: Repair = repair
