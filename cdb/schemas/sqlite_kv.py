"""Everything in SQLite as ordered keys and values: coins, spends and blocks; sqlite_kv is the same.

The layout interval in SQLite, by cdb.stores.coin_set; docs/schemas/sqlite_kv.md draws its tables.
"""

from cdb.contract.durability import Durability
from cdb.engines import sqlite
from cdb.stores.coin_set.binding import PREFIX
from cdb.stores.coin_set.schema import Kind
from cdb.stores.coin_set.spec import coin_set_spec

KIND = Kind("interval@sqlite", sqlite.ENGINE.native(PREFIX))
SCHEMA = coin_set_spec(
    KIND,
    durabilities=(Durability.POWER, Durability.PROCESS),
    limits=sqlite.LIMITS,
    not_durable=sqlite.NOT_DURABLE,
)
