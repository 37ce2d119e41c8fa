"""One life of the twins: compare them, and then go on with random transactions."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from chia.full_node.coin_store import CoinStore as TheirStore
from chia.full_node.hint_store import HintStore
from chia.util.db_wrapper import DBWrapper2
from chia_rs.sized_ints import uint32

from cdb.chia import CoinStore
from cdb.node import follower, worker
from tests.chia.answers import Commits, compare
from tests.chia.chain import Chain, Made

MOST_COINS = 3_000


class OurStore(CoinStore):
    """cdb's store beside chia's, in one file."""

    interlock = False


class UndoneError(Exception):
    """A transaction ends so on purpose."""


def live(
    path: Path,
    seed: str,
    say_equal: Callable[[], object] = lambda: None,
    *,
    transactions: int = 0,
    synchronous: Sequence[str] = ("NORMAL", "FULL", "OFF"),
) -> None:
    """Compare the stores, say that they are equal, do so many transactions, and compare and close.

    synchronous: SQLite's, one of these. Raises AssertionError where they differ.
    """
    asyncio.run(_live(path, Random(seed), say_equal, transactions, synchronous))


async def _live(
    path: Path,
    random: Random,
    say_equal: Callable[[], object],
    transactions: int,
    synchronous: Sequence[str],
) -> None:
    # Often, so that short lives have some: flushes, with rows that go, and checkpoints.
    follower.FLUSH_OPERATIONS = random.choice([1, 3, 10])
    # Few coins are many, so that calls go to threads; or they stay on the loop.
    worker.SMALL_COINS = random.choice([1, 20, 300])
    async with DBWrapper2.managed(
        path, db_version=2, synchronous=random.choice(synchronous)
    ) as wrapper:
        async with wrapper.writer() as connection:
            await connection.execute(f"PRAGMA wal_autocheckpoint = {random.choice([5, 50, 1000])}")
        twins = await Twins.create(wrapper, random)
        await compare(twins, everything=True)
        say_equal()
        for _ in range(transactions):
            await twins.transaction()
        await compare(twins, everything=True)
    twins.ours._follower.close()


class Twins:
    """Both stores, and what is on their chain as far as it is committed."""

    def __init__(self, wrapper: Any, random: Random) -> None:
        self.wrapper = wrapper
        self.random = random
        self.theirs: Any = None
        self.ours: Any = None
        self.hints: Any = None
        self.commits = Commits()

    @classmethod
    async def create(cls, wrapper: Any, random: Random) -> "Twins":
        """Open both."""
        twins = cls(wrapper, random)
        twins.theirs = await TheirStore.create(wrapper)
        twins.ours = await OurStore.create(wrapper)
        twins.hints = await HintStore.create(wrapper)
        return twins

    async def transaction(self, *, compares: bool = True) -> None:
        """One transaction of some steps, which may be undone, or cut short by a cancellation;
        beside it, perhaps, others ask."""
        async with self._others_ask(self.random.choice([0, 0, 1, 2]) if compares else 0):
            chance = self.random.random()
            if chance < 0.15:
                await self._cancelled(self._steps(compares=False))
            elif chance < 0.3:
                await self._undone(compares=compares)
            else:
                await self._steps(compares=compares)
        if compares:
            await compare(self, everything=False)

    @asynccontextmanager
    async def _others_ask(self, number: int) -> AsyncIterator[None]:
        """So many tasks compare the stores meanwhile, again and again."""
        is_over = False

        async def ask() -> None:
            while not is_over:
                await compare(self, everything=False)

        tasks = [asyncio.ensure_future(ask()) for _ in range(number)]
        try:
            yield
        finally:
            is_over = True
            await asyncio.gather(*tasks)

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[None]:
        """Write, and commit what was written. It counts from before it is, to behind that; where
        that is cut short, to behind the next one: the commit goes on in SQLite's thread."""
        try:
            async with self.wrapper.writer():
                try:
                    yield
                finally:
                    self.commits.begun += 1
        except asyncio.CancelledError:
            raise
        except BaseException:
            self.commits.ended = self.commits.begun
            raise
        self.commits.ended = self.commits.begun

    async def _steps(self, *, compares: bool = True, is_undone: bool = False) -> None:
        """compares: not where it may be cancelled, which leaves chia's readers in the past."""
        async with self._transaction():
            for _ in range(self.random.randint(1, 4)):
                await self.random.choice(
                    [self.block, self.block, self.block, self.fork, self._nested, self._wrong]
                )()
                if compares and self.random.random() < 0.2:
                    await compare(self, everything=False)
                if compares and self.random.random() < 0.2:
                    await asyncio.create_task(compare(self, everything=False))
            if is_undone:
                raise UndoneError

    async def _undone(self, *, compares: bool) -> None:
        with suppress(UndoneError):
            await self._steps(compares=compares, is_undone=True)

    async def _cancelled(self, steps: Any) -> None:
        task = asyncio.ensure_future(steps)
        await asyncio.sleep(self.random.random() * 0.02)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()
        async with self._transaction():
            pass  # behind a commit that was begun, which others may see at any time until then

    async def _nested(self) -> None:
        """Steps within a savepoint, which may fail alone."""
        try:
            async with self.wrapper.writer():
                for _ in range(self.random.randint(1, 3)):
                    await self.random.choice([self.block, self.fork, self._nested])()
                if self.random.random() < 0.6:
                    raise UndoneError
        except UndoneError:
            pass

    async def block(self) -> None:
        """Add one."""
        chain = await self._chain()
        await self._add(chain.block(more=self.random.random() < 0.1))

    async def _add(self, made: Made) -> None:
        for store in (self.theirs, self.ours):
            await store.new_block(*made.arguments)
        if made.hints:
            await self.hints.add_hints(made.hints)
        if self.random.random() < 0.1:
            await self._spend_more(made.height)

    async def _spend_more(self, height: int) -> None:
        """More spends of the newest block."""
        names = (await self._chain()).more_spends()
        for each in (self.theirs, self.ours):
            await each._set_spent(names if height else [], uint32(height))

    async def fork(self, depth: int | None = None) -> None:
        """Go back, by so many heights, and on with other blocks, or none."""
        chain = await self._chain()
        height = chain.height - depth if depth is not None else chain.fork(MOST_COINS)
        theirs = await self.theirs.rollback_to_block(height)
        ours = await self.ours.rollback_to_block(height)
        assert theirs == ours, f"a rollback to {height} changes other coins"
        for _ in range(self.random.randint(0, 3)):
            await self.block()

    async def _wrong(self) -> None:
        """What both have to refuse, with the same kind of error, and nothing happens."""
        chain = await self._chain()
        made = chain.wrong_block()
        errors = []
        for store in (self.theirs, self.ours):
            try:
                async with self.wrapper.writer():
                    await store.new_block(*made.arguments)
                errors.append("none")
            except (ValueError, sqlite3.IntegrityError) as error:
                errors.append(f"{type(error).__name__}: {error}")
        assert errors[0] == errors[1] != "none", errors

    async def _chain(self) -> Chain:
        """The chain as the one who asks sees it, by chia's table."""
        async with self.wrapper.reader_no_transaction() as connection:
            rows = await connection.execute_fetchall(
                "SELECT coin_name, coin_parent, puzzle_hash, amount, confirmed_index, spent_index,"
                " timestamp FROM coin_record ORDER BY confirmed_index, coin_name"
            )
        return Chain(self.random, [tuple(row) for row in rows])
