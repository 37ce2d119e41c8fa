"""Everything in Pebble: coins, spends and blocks; pebble_kv is the same.

The layout interval in Pebble, by cdb.stores.coin_set; docs/schemas/rocks_kv.md draws its keys and
values.
"""

from cdb.engines import pebble
from cdb.stores.coin_set.binding import PREFIX
from cdb.stores.coin_set.schema import Kind
from cdb.stores.coin_set.spec import coin_set_spec

KIND = Kind("interval@pebble", pebble.ENGINE.native(PREFIX))
SCHEMA = coin_set_spec(
    KIND,
    limits=pebble.LIMITS,
    not_durable=pebble.NOT_DURABLE,
    tuning=("compression", "max_open_files", "height_filter", "session_reuse"),
)
