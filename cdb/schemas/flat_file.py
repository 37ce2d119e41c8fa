"""Coins in SQLite rows; a baby LSM tree over flat files maps name → row id.

    index/manifest         which runs there are, and how far they reach
    index/run-*.flat       a sorted run each: pages of (name, row id), little-endian, checksummed

See cdb.stores.rows.lsm.tree for the tree, and cdb.stores.rows.lsm.flat_run for the runs.
"""

from functools import partial

from cdb.building import rows_spec
from cdb.stores.rows.lsm.flat_run import FLAT
from cdb.stores.rows.lsm.tree import LsmIndex

SCHEMA = rows_spec(
    "flat_file",
    partial(LsmIndex, run_format=FLAT),
    limits=("derived index",),
    checksummed="db/(FORMAT|index/.*)",
)
