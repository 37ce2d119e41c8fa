"""Coins in SQLite rows; a baby LSM tree over SQLite files maps name → row id.

    index/manifest         which runs there are, and how far they reach
    index/run-*.sqlite     a sorted run each: hashes(hash BLOB, hash_index INTEGER), no SQL index

See cdb.stores.rows.lsm.tree for the tree, and cdb.stores.rows.lsm.sqlite_run for the runs.
"""

from functools import partial

from cdb.building import rows_spec
from cdb.stores.rows.lsm.sqlite_run import SQLITE
from cdb.stores.rows.lsm.tree import LsmIndex

SCHEMA = rows_spec(
    "sqlite_row",
    partial(LsmIndex, run_format=SQLITE),
    limits=("derived index",),
    checksummed="db/(FORMAT|index/manifest)",
)
