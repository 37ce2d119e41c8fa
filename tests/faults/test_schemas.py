"""Every schema of cdb's own keeps its promises under faults, with small memtables and runs."""

from pathlib import Path
from typing import ClassVar

import pytest

from cdb.schemas import find_schema
from cdb.testing.faults import FileSystem, Trials
from cdb.testing.faults.power import record
from cdb.testing.faults.recorder import Kind
from cdb.testing.faults.suite import FaultTests

WITHOUT_ROCKSDB = find_schema("rocks").missing
WITHOUT_COIN_LOG = find_schema("coin_log").missing

needs_rocksdb = pytest.mark.skipif(WITHOUT_ROCKSDB is not None, reason=str(WITHOUT_ROCKSDB))
needs_coin_log = pytest.mark.skipif(WITHOUT_COIN_LOG is not None, reason=str(WITHOUT_COIN_LOG))

MANIFEST_FAILS = (
    "RocksDB 7.8 deletes ingested files when the fsync of its manifest fails, which may name them"
)


class MergesRuns(FaultTests):
    """Its script is one that merges runs."""

    def test_the_script_merges_runs(self, trials: Trials, directory: Path) -> None:
        removed = [
            operation.path
            for operation in record(trials, self.seed, directory).operations
            if operation.kind is Kind.UNLINK and "/run-" in operation.path
        ]
        assert len(removed) >= 2


class TestMemory(FaultTests):
    schema = "memory"
    most_databases = None
    most_calls = None


class TestBlockchainV2(FaultTests):
    schema = "blockchain_v2"
    # A new file of zeros beside the journal that rolls it back is not ours, as far as it can tell.
    file_systems = (FileSystem.EXT4, FileSystem.STRICT)


class TestSqliteV3(FaultTests):
    schema = "cdb.testing.small_memtable:SQLITE_V3"


class TestSqliteRow(MergesRuns):
    schema = "cdb.testing.faults.merging:SQLITE_ROW"
    seed = 12


class TestFlatFile(MergesRuns):
    schema = "cdb.testing.faults.merging:FLAT_FILE"
    seed = 12


@needs_rocksdb
class TestRocks(FaultTests):
    schema = "cdb.testing.small_memtable:ROCKS"
    known_failures: ClassVar = {"eio": MANIFEST_FAILS, "eio-sync": MANIFEST_FAILS}


@needs_rocksdb
class TestRocksKv(FaultTests):
    schema = "cdb.testing.small_memtable:ROCKS_KV"
    # A manifest with a gap in what was appended last is damage to RocksDB: it wants such files to
    # end early instead, as most file systems have it.
    file_systems = (FileSystem.EXT4, FileSystem.STRICT)
    known_failures: ClassVar = {"eio": MANIFEST_FAILS, "eio-sync": MANIFEST_FAILS}


@needs_coin_log
class TestCoinLog(MergesRuns):
    schema = "cdb.testing.small_memtable:COIN_LOG"
    most_databases = None
    most_calls = 30
