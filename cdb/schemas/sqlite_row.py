"""Coins in SQLite rows; a baby LSM tree over SQLite files maps name → row id.

    index/manifest         which runs there are, and how far they reach
    index/run-*.sqlite     a sorted run each: hashes(hash BLOB, hash_index INTEGER), no SQL index

See cdb.rows.lsm.tree for the tree, and cdb.rows.lsm.sqlite_run for the runs.
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
from cdb.rows.lsm.sqlite_run import SQLITE
from cdb.rows.lsm.tree import LsmIndex

_open_index = partial(LsmIndex, run_format=SQLITE)
SCHEMA = partial(open_indexed, "sqlite_row", _open_index)
HISTORY = BY_CREATION
SMALL = partial(SCHEMA, memtable_coins=20)
CHECKSUMMED = "db/(FORMAT|index/manifest)"
NOT_DURABLE = SQLITE_NOT_DURABLE
LIMITS = (*COIN_ROWS, OLDER_INDEX)
check = partial(check_indexed, "sqlite_row", _open_index)
repair = partial(repair_indexed, "sqlite_row", _open_index)
versions = sqlite_versions
