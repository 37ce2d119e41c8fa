"""Everything in fjall: coins, spends and blocks; fjall_kv is the same.

The layout interval in fjall, by cdb.stores.coin_set; docs/schemas/rocks_kv.md draws its keys and
values.
"""

from cdb.engines import fjall
from cdb.stores.coin_set.binding import PREFIX
from cdb.stores.coin_set.schema import Kind
from cdb.stores.coin_set.spec import coin_set_spec

# A commit is a batch in memory first, and then in memtables: 300 bytes for each of its entries.
KIND = Kind("interval@fjall", fjall.ENGINE.native(PREFIX), page_bytes=600, most_page_bytes=1 << 40)
SCHEMA = coin_set_spec(KIND, limits=fjall.LIMITS)
