"""A full node's coin store: chia-blockchain's interface over coin_log.

Importing this imports nothing of chia; CoinStore does, and needs chia-blockchain beside cdb:
pip install 'coinset-db[chia]'. See docs/why/node-coin-store.md.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cdb.chia.store import CoinStore

__all__ = ["CoinStore"]


def __getattr__(name: str) -> Any:
    if name != "CoinStore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cdb.chia.store import CoinStore

    return CoinStore
