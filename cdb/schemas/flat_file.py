"""Coins in SQLite rows; a baby LSM tree over flat files maps name → row id.

    index/manifest         which runs there are, and how far they reach
    index/run-*.flat       a sorted run each: pages of (name, row id), little-endian, checksummed

See cdb.rows.lsm.tree for the tree, and cdb.rows.lsm.flat_run for the runs.
"""

from functools import partial

from cdb.building import (
    BY_CREATION,
    COIN_ROWS,
    OLDER_INDEX,
    SQLITE_NOT_DURABLE,
    check_indexed,
    open_indexed,
    repair_indexed,
    sqlite_versions,
)
from cdb.rows.lsm.flat_run import FLAT
from cdb.rows.lsm.tree import LsmIndex

_open_index = partial(LsmIndex, run_format=FLAT)
SCHEMA = partial(open_indexed, "flat_file", _open_index)
HISTORY = BY_CREATION
SMALL = partial(SCHEMA, memtable_coins=20)
CHECKSUMMED = "db/(FORMAT|index/.*)"
NOT_DURABLE = SQLITE_NOT_DURABLE
LIMITS = (*COIN_ROWS, OLDER_INDEX)
check = partial(check_indexed, "flat_file", _open_index)
repair = partial(repair_indexed, "flat_file", _open_index)
versions = sqlite_versions
