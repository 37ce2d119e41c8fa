"""A coin store with blocks that are made by hand."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chia.types.mempool_item import UnspentLineageInfo
from chia.util.db_wrapper import DBWrapper2
from chia_rs import Coin, CoinRecord
from chia_rs.sized_bytes import bytes32
from chia_rs.sized_ints import uint32, uint64

from cdb.chia import CoinStore
from cdb.chia.bench import chain

SINGLETON = bytes32(b"\x51" * 32)
OTHER = bytes32(b"\x07" * 32)
ODD = 1_001


@dataclass
class Node:
    """A store, and what makes blocks for it."""

    store: Any
    wrapper: Any

    async def block(
        self, height: int, spends: Sequence[Coin] = (), creates: Sequence[Coin] = ()
    ) -> list[Coin]:
        """Add a block as consensus does; its rewards."""
        paid = rewards(height) if height else []
        block = chain.made(paid, creates, spends)
        await self.store.new_block(uint32(height), uint64(50_000 + height), *block)
        return paid

    async def lineage(self) -> UnspentLineageInfo | None:
        """Of the singleton's puzzle hash."""
        found: UnspentLineageInfo | None
        found = await self.store.get_unspent_lineage_info_for_puzzle_hash(SINGLETON)
        return found

    async def record(self, coin: Coin) -> CoinRecord | None:
        """Of a coin."""
        return await self.store.get_coin_record(coin.name())


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Node]:
    """cdb's store of a file, and its end, for which others would not wait."""
    async with DBWrapper2.managed(path, db_version=2) as wrapper:
        store = await CoinStore.create(wrapper)
        yield Node(store, wrapper)
    store._follower.close()


def rewards(height: int) -> list[Coin]:
    """A block's."""
    return chain.rewards(height, OTHER, 2)


def child(parent: Coin, puzzle_hash: bytes32 | None = None, amount: int | None = None) -> Coin:
    """A coin that spending another one makes; the same again, unless told."""
    chosen = parent.amount if amount is None else amount
    return Coin(parent.name(), puzzle_hash or parent.puzzle_hash, uint64(chosen))


def info(coin: Coin, parent: Coin) -> UnspentLineageInfo:
    """The lineage of a coin."""
    return UnspentLineageInfo(coin.name(), parent.name(), parent.parent_coin_info)


LAUNCHER = Coin(bytes32(b"\x01" * 32), OTHER, uint64(ODD))
FIRST = child(LAUNCHER, SINGLETON)
