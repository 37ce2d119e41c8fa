"""cdb: storage schemas for a coin-set blockchain, held to one contract and compared.

    import cdb

    with cdb.open_schema("rocks", "my.cdb") as schema:
        schema.accept_block(cdb.BlockSpendInfo(index=1, timestamp=0, spends=[], confirms=[]))
        schema.flush()

Errors are those of cdb.errors. A schema of your own is built of cdb.building, and cdb.testing
holds it to the contract.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cdb import errors
    from cdb.contract.blocks import BlockSpendInfo
    from cdb.contract.coins import Coin, CoinInfo, bytes32
    from cdb.contract.durability import Durability
    from cdb.contract.packed import PackedBlocks
    from cdb.errors import CdbError
    from cdb.schemas import Schema, open_schema

    __version__: str
    """Of the installed distribution."""

__all__ = [
    "BlockSpendInfo",
    "CdbError",
    "Coin",
    "CoinInfo",
    "Durability",
    "PackedBlocks",
    "Schema",
    "__version__",
    "bytes32",
    "errors",
    "open_schema",
]

# Imported when they are asked for: a command decides what Ctrl-C does before it waits for them.
_HOMES = {
    "BlockSpendInfo": "cdb.contract.blocks",
    **dict.fromkeys(("Coin", "CoinInfo", "bytes32"), "cdb.contract.coins"),
    "Durability": "cdb.contract.durability",
    "CdbError": "cdb.errors",
    "PackedBlocks": "cdb.contract.packed",
    **dict.fromkeys(("Schema", "open_schema"), "cdb.schemas"),
}


def __getattr__(name: str) -> object:
    if name == "errors":
        return import_module("cdb.errors")
    if name == "__version__":
        return import_module("importlib.metadata").version(
            import_module("cdb.extensions").DISTRIBUTION
        )
    if name not in _HOMES:
        raise AttributeError(f"module 'cdb' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
