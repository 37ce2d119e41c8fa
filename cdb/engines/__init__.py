"""The ordered key-value engines beneath coin sets: one table, and a file for each.

An engine's name stands in its own files and in this table; the other half of the table is native:
a line cdb_add_engine() in native/CMakeLists.txt.
"""

from collections.abc import Mapping
from types import MappingProxyType

from cdb.engines import badger, bbolt, fjall, lmdb, mdbx, pebble, redb, rocksdb, sqlite
from cdb.engines.engine import Engine

__all__ = ["ENGINES", "Engine"]

ENGINES: Mapping[str, Engine] = MappingProxyType(
    {
        engine.name: engine
        for engine in (
            rocksdb.ENGINE,
            lmdb.ENGINE,
            mdbx.ENGINE,
            sqlite.ENGINE,
            pebble.ENGINE,
            bbolt.ENGINE,
            redb.ENGINE,
            badger.ENGINE,
            fjall.ENGINE,
        )
    }
)
