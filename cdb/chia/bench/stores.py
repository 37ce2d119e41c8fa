"""The two stores, each on a file of its own, used as a node uses them."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from chia.full_node.coin_store import CoinStore as TheirStore
from chia.full_node.hint_store import HintStore
from chia.util.db_wrapper import DBWrapper2
from chia_rs.sized_bytes import bytes32
from chia_rs.sized_ints import uint32, uint64

from cdb.chia import CoinStore
from cdb.chia.bench.chain import Block
from cdb.chia.bench.terms import SYNCHRONOUS
from cdb.chia.opening import close_all

_NOBODY = bytes32(bytes(32))
_CLASSES = {"chia": TheirStore, "cdb": CoinStore}


class Store:
    """One that is open. calls: its methods, by chia's names."""

    def __init__(self, calls: Any, wrapper: Any, hints: HintStore) -> None:
        self.calls = calls
        self._wrapper = wrapper
        self._hints = hints

    async def add(self, block: Block) -> None:
        """Add a block, in a transaction."""
        async with self._wrapper.writer():
            await self._new_block(block)

    async def roll_back(self, height: int) -> Any:
        """Take away what is above a height, in a transaction; what became of the coins."""
        async with self._wrapper.writer():
            return await self.calls.rollback_to_block(height)

    async def reorganize(self, height: int, blocks: Sequence[Block]) -> Any:
        """Go back to a height and add other blocks, in one transaction; what the first did."""
        async with self._wrapper.writer():
            changes = await self.calls.rollback_to_block(height)
            for block in blocks:
                await self._new_block(block)
        return changes

    async def take_back(self, height: int) -> None:
        """The same, with nothing left to be done by the next one that opens it."""
        await self.roll_back(height)
        await self.finish()

    async def finish(self) -> None:
        """Do what is put off until the next call."""
        await self.calls.get_coin_record(_NOBODY)

    async def hint(self, pairs: list[Any]) -> None:
        """Note hints of coins."""
        for at in range(0, len(pairs), 10_000):
            await self._hints.add_hints(pairs[at : at + 10_000])

    async def _new_block(self, block: Block) -> None:
        height, (rewards, additions, removals) = block
        timestamp = uint64(1_700_000_000 + 19 * height)
        await self.calls.new_block(uint32(height), timestamp, rewards, additions, removals)


@asynccontextmanager
async def opened(name: str, directory: Path) -> AsyncIterator[Store]:
    """The store of a name, in a directory that nothing else is in; its files are closed then."""
    try:
        async with DBWrapper2.managed(
            directory / "node.sqlite", db_version=2, synchronous=SYNCHRONOUS
        ) as wrapper:
            hints = await HintStore.create(wrapper)
            yield Store(await _CLASSES[name].create(wrapper), wrapper, hints)
    finally:
        close_all()  # nobody tells a store that its wrapper was closed
