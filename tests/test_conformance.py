"""Every schema of cdb's own keeps the contract.

Those with a memtable keep it also when that is tiny, so that most names are in the index behind.
"""

from cdb.testing import SchemaConformance


class TestBlockchainV2(SchemaConformance):
    schema = "blockchain_v2"


class TestBlockchainV2WithTheNodesIndexes(SchemaConformance):
    schema = "cdb.schemas.blockchain_v2:NODE"


class TestSqliteV3(SchemaConformance):
    schema = "sqlite_v3"


class TestSqliteRow(SchemaConformance):
    schema = "sqlite_row"


class TestFlatFile(SchemaConformance):
    schema = "flat_file"


class TestRocks(SchemaConformance):
    schema = "rocks"


class TestMemory(SchemaConformance):
    schema = "memory"


class TestSqliteV3WithASmallMemtable(SchemaConformance):
    schema = "cdb.testing.small_memtable:SQLITE_V3"


class TestSqliteRowWithASmallMemtable(SchemaConformance):
    schema = "cdb.testing.small_memtable:SQLITE_ROW"


class TestFlatFileWithASmallMemtable(SchemaConformance):
    schema = "cdb.testing.small_memtable:FLAT_FILE"


class TestRocksWithASmallMemtable(SchemaConformance):
    schema = "cdb.testing.small_memtable:ROCKS"
