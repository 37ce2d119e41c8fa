"""cdb's schemas at the level PROCESS, with small memtables: a power cut may take what is new."""

from cdb.durability import Durability
from cdb.schemas import blockchain_v2
from cdb.testing.faults.merging import FLAT_FILE
from cdb.testing.small_memtable import COIN_LOG, ROCKS, ROCKS_KV, SQLITE_V3

__all__ = ["BLOCKCHAIN_V2", "COIN_LOG", "FLAT_FILE", "ROCKS", "ROCKS_KV", "SQLITE_V3"]

DURABILITIES = (Durability.PROCESS,)

BLOCKCHAIN_V2 = blockchain_v2.SCHEMA
