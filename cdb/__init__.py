"""cdb: storage schemas for a coin-set blockchain, held to one contract and compared.

import cdb

with cdb.open_schema("rocks", "my.cdb") as schema:
    schema.accept_block(cdb.BlockSpendInfo(index=1, timestamp=0, spends=[], confirms=[]))
    schema.flush()
"""

from cdb import errors
from cdb.blocks import BlockSpendInfo
from cdb.coins import Coin, CoinInfo, bytes32
from cdb.durability import Durability
from cdb.errors import CdbError
from cdb.schemas import Schema, open_schema

__all__ = [
    "BlockSpendInfo",
    "CdbError",
    "Coin",
    "CoinInfo",
    "Durability",
    "Schema",
    "bytes32",
    "errors",
    "open_schema",
]
