"""Coins in SQLite rows; RocksDB maps name → row id.

    index/    a RocksDB database: key = name (32 bytes), value = row id

Names come in sorted runs, which RocksDB takes in as files and merges in the background, so that
random keys become sequential writes.
"""

from cdb.building import rows_spec
from cdb.engines import rocksdb
from cdb.stores.rows.rocks_index import RocksIndex, load, missing, version

SCHEMA = rows_spec(
    "rocks",
    RocksIndex,
    load_engine=load,
    missing=missing,
    versions=lambda: [version()],
    limits=("RocksDB",),
    not_durable=rocksdb.NOT_DURABLE,
)
