"""Everything in LMDB, one B-tree file: coins, spends and blocks; lmdb_kv is the same.

The layout interval in LMDB, by cdb.stores.coin_set; docs/schemas/lmdb_kv.md draws its keys and
values.
"""

from cdb.contract.durability import Durability
from cdb.engines import lmdb
from cdb.stores.coin_set.binding import PREFIX
from cdb.stores.coin_set.schema import Kind
from cdb.stores.coin_set.spec import OPTIONS, coin_set_spec

KIND = Kind(
    "interval@lmdb",
    lmdb.ENGINE.native(PREFIX),
    page_bytes=2 * 4096,
    most_page_bytes=512 << 20,
)
SCHEMA = coin_set_spec(
    KIND,
    # Without any sync a power cut would leave a file that is no database any more.
    durabilities=(Durability.POWER, Durability.PROCESS),
    # The cache is the kernel's.
    options={name: value for name, value in OPTIONS.items() if name != "cache_mb"},
    limits=lmdb.LIMITS,
    not_durable=lmdb.NOT_DURABLE,
)
