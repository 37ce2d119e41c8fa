"""Everything in redb, one B-tree file: coins, spends and blocks; redb_kv is the same.

The layout interval in redb, by cdb.stores.coin_set; docs/schemas/rocks_kv.md draws its keys and
values.
"""

from cdb.contract.durability import Durability
from cdb.engines import redb
from cdb.stores.coin_set.binding import PREFIX
from cdb.stores.coin_set.schema import Kind
from cdb.stores.coin_set.spec import coin_set_spec

KIND = Kind("interval@redb", redb.ENGINE.native(PREFIX))
SCHEMA = coin_set_spec(
    KIND,
    # Without its syncs a power cut would leave a root without its pages.
    durabilities=(Durability.POWER,),
    limits=redb.LIMITS,
)
