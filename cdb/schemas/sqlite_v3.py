"""Coins in SQLite rows; a second SQLite table maps name → row id by its primary key.

    index/lookup.sqlite    coin_lookup(hash BLOB PRIMARY KEY, id INTEGER) WITHOUT ROWID

The keys are random, so an insert changes a random leaf of the B-tree: far smaller rows than
blockchain_v2's, but the same kind of write amplification.
"""

from cdb.building import rows_spec
from cdb.stores.rows.sqlite_lookup import SqliteLookup

SCHEMA = rows_spec("sqlite_v3", SqliteLookup, limits=("SQLite index",))
