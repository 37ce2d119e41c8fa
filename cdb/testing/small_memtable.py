"""cdb's schemas with a memtable so small that short tests reach what lies behind it."""

from functools import partial

from cdb.coin_log.binding import Sizes
from cdb.schemas import coin_log, flat_file, rocks, rocks_kv, sqlite_row, sqlite_v3

__all__ = ["COIN_LOG", "FLAT_FILE", "ROCKS", "ROCKS_KV", "SQLITE_ROW", "SQLITE_V3"]

MEMTABLE_COINS = 20

SQLITE_V3 = partial(sqlite_v3.SCHEMA, memtable_coins=MEMTABLE_COINS)
SQLITE_ROW = partial(sqlite_row.SCHEMA, memtable_coins=MEMTABLE_COINS)
FLAT_FILE = partial(flat_file.SCHEMA, memtable_coins=MEMTABLE_COINS)
ROCKS = partial(rocks.SCHEMA, memtable_coins=MEMTABLE_COINS)
ROCKS_KV = partial(rocks_kv.SCHEMA, commit_entries=40, ingest_entries=15)
COIN_LOG = partial(
    coin_log.SCHEMA,
    sizes=Sizes(
        memtable_coins=MEMTABLE_COINS,
        merge_runs=2,
        bucket_bits=3,
        recent_bits=2,
        unverified_spends=5,
    ),
)
