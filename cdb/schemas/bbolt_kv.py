"""Everything in bbolt, one B-tree file: coins, spends and blocks; bbolt_kv is the same.

The layout interval in bbolt, by cdb.stores.coin_set; docs/schemas/rocks_kv.md draws its keys and
values.
"""

from cdb.contract.durability import Durability
from cdb.engines import bbolt
from cdb.stores.coin_set.binding import PREFIX
from cdb.stores.coin_set.schema import Kind
from cdb.stores.coin_set.spec import OPTIONS, coin_set_spec

KIND = Kind(
    "interval@bbolt",
    bbolt.ENGINE.native(PREFIX),
    page_bytes=4 * 4096,  # pages that the heap keeps until it is collected included
    most_page_bytes=1 << 30,
)
SCHEMA = coin_set_spec(
    KIND,
    # Without its syncs a power cut would leave a file that is no database any more.
    durabilities=(Durability.POWER,),
    # The cache is the kernel's.
    options={name: value for name, value in OPTIONS.items() if name != "cache_mb"},
    limits=bbolt.LIMITS,
    not_durable=("*/readers",),
)
