"""Sorted runs of any size, written at every commit: enough of them in one script to be merged."""

from functools import partial

from cdb.schemas import flat_file, sqlite_row

FLAT_FILE = partial(flat_file.SCHEMA, memtable_coins=1)
SQLITE_ROW = partial(sqlite_row.SCHEMA, memtable_coins=1)
