"""Everything in Badger: coins, spends and blocks; badger_kv is the same.

The layout interval in Badger, by cdb.stores.coin_set; docs/schemas/rocks_kv.md draws its keys and
values.
"""

from cdb.contract.durability import Durability
from cdb.engines import badger
from cdb.stores.coin_set.binding import PREFIX
from cdb.stores.coin_set.schema import Kind
from cdb.stores.coin_set.spec import coin_set_spec

KIND = Kind(
    "interval@badger",
    badger.ENGINE.native(PREFIX),
    page_bytes=1_200,  # entries, and as many again until the heap is collected
    most_page_bytes=512 << 20,
)
SCHEMA = coin_set_spec(
    KIND,
    # Its logs are synced for all commits or for none.
    durabilities=(Durability.POWER,),
    limits=badger.LIMITS,
    not_durable=badger.NOT_DURABLE,
    tuning=("compression",),
)
