"""Sorted runs of any size, written at every commit: enough of them in one script to be merged."""

from collections.abc import Callable
from functools import partial

from cdb.schemas import Schema, flat_file, sqlite_row


def _merging(factory: Callable[..., Schema]) -> Callable[..., Schema]:
    return partial(factory, memtable_coins=1)


FLAT_FILE = _merging(flat_file.SCHEMA.factory)
SQLITE_ROW = _merging(sqlite_row.SCHEMA.factory)
