"""What tests take of the table of engines: none but an engine's own files names it.

RocksDB stands for engines where one is enough; OTHER is one that differs from it in what it keeps,
syncs and maps.
"""

import pytest

from cdb.engines import ENGINES
from cdb.stores.coin_set.schema import Kind

SCHEMAS = tuple(engine.schema for engine in ENGINES.values())
"""Of each engine the module that is the layout interval in it."""
OTHERS = tuple(name for name in ENGINES if name != "rocksdb")
OTHER = next(name for name in OTHERS if ENGINES[name].writes_maps)
OTHER_SCHEMA = ENGINES[OTHER].schema
PRELOADED = ("lmdb_kv", "mdbx_kv", "sqlite_kv")
"""Those beside RocksDB's whose calls a preloaded library sees."""


def check_a_commit_fits(
    kind: Kind, memory: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default a commit has so many entries where a process may have so many bytes."""
    monkeypatch.setattr("cdb.stores.coin_set.schema.memory_bytes", lambda: memory)
    assert kind.commit_entries() == entries
