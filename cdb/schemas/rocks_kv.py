"""Everything in RocksDB: coins, spends and blocks, without SQLite; rocks_kv is the same.

The layout interval in RocksDB, by cdb.stores.coin_set; docs/schemas/rocks_kv.md draws its keys and
values.
"""

from cdb.engines import rocksdb
from cdb.stores.coin_set.binding import PREFIX
from cdb.stores.coin_set.schema import Kind
from cdb.stores.coin_set.spec import coin_set_spec

KIND = Kind("rocks_kv", rocksdb.ENGINE.native(PREFIX))
SCHEMA = coin_set_spec(
    KIND,
    limits=rocksdb.LIMITS,
    not_durable=rocksdb.NOT_DURABLE,
    tuning=("compression", "max_open_files", "height_filter", "session_reuse"),
)
