"""One life of the twins: compare them, and then go on with random transactions."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from chia.full_node.coin_store import CoinStore as TheirStore
from chia.full_node.hint_store import HintStore
from chia.util.db_wrapper import DBWrapper2

from cdb.chia import CoinStore, follower
from tests.chia.answers import compare
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
    say_done: Callable[[int], object] | None = None,
    first: int = 1,
    compares: bool = True,
    has_reorgs: bool = False,
    flush_operations: Sequence[int] = (1, 3, 10),
    checkpoint_pages: Sequence[int] = (5, 50, 1000),
) -> None:
    """Compare the stores, say that they are equal, do so many transactions, and compare and close.

    synchronous: SQLite's, one of these. say_done: is told the number of each transaction, of which
    the first one has this, once it is committed, and the file says so, too. compares: also
    meanwhile, which has everything wait for the log. has_reorgs: more than as a rule.
    flush_operations, checkpoint_pages: the log is flushed, and SQLite makes a checkpoint, each one
    of these; often, so that short lives have some. Raises AssertionError where the stores differ.
    """
    random = Random(seed)
    follower.FLUSH_OPERATIONS = random.choice(flush_operations)
    life = _Life(
        random,
        range(first, first + transactions),
        random.choice(synchronous),
        random.choice(checkpoint_pages),
        say_equal,
        say_done,
        compares,
        has_reorgs,
    )
    asyncio.run(life.live(path))


def newest_done(path: Path) -> int:
    """The number of the newest transaction that a file knows to be done; 0: none."""
    with closing(sqlite3.connect(path)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'done'").fetchall():
            return 0
        [(number,)] = connection.execute("SELECT max(number) FROM done")
        return number or 0


@dataclass(frozen=True)
class _Life:
    random: Random
    numbers: range
    synchronous: str
    checkpoint_pages: int
    say_equal: Callable[[], object]
    say_done: Callable[[int], object] | None
    compares: bool
    has_reorgs: bool

    async def live(self, path: Path) -> None:
        """See live()."""
        async with DBWrapper2.managed(path, db_version=2, synchronous=self.synchronous) as wrapper:
            async with wrapper.writer() as connection:
                pages = self.checkpoint_pages
                await connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")
            twins = await Twins.create(wrapper, self.random, has_reorgs=self.has_reorgs)
            await compare(twins, everything=True)
            self.say_equal()
            for number in self.numbers:
                await twins.transaction(compares=self.compares)
                if self.say_done is not None:
                    await _note(wrapper, number)
                    self.say_done(number)
            await compare(twins, everything=True)
        twins.ours._follower.close()


async def _note(wrapper: Any, number: int) -> None:
    """Commit the number of the newest transaction that is done."""
    async with wrapper.writer() as connection:
        await connection.execute("CREATE TABLE IF NOT EXISTS done(number INTEGER PRIMARY KEY)")
        await connection.execute("INSERT OR REPLACE INTO done VALUES(?)", (number,))


class Twins:
    """Both stores, and what is on their chain as far as it is committed."""

    def __init__(self, wrapper: Any, random: Random, *, has_reorgs: bool = False) -> None:
        self.wrapper = wrapper
        self.random = random
        self._steps_to_choose = [
            *(self._block, self._block, self._block, self._fork, self._nested, self._wrong),
            *[self._fork] * (3 if has_reorgs else 0),
        ]
        self.theirs: Any = None
        self.ours: Any = None
        self.hints: Any = None

    @classmethod
    async def create(cls, wrapper: Any, random: Random, *, has_reorgs: bool = False) -> "Twins":
        """Open both."""
        twins = cls(wrapper, random, has_reorgs=has_reorgs)
        twins.theirs = await TheirStore.create(wrapper)
        twins.ours = await OurStore.create(wrapper)
        twins.hints = await HintStore.create(wrapper)
        return twins

    async def transaction(self, *, compares: bool = True) -> None:
        """One transaction of some steps, which may be undone, or cut short by a cancellation."""
        chance = self.random.random()
        if chance < 0.15:
            await self._cancelled(self._steps(compares=False))
        elif chance < 0.3:
            await self._undone(self._steps(compares=compares))
        else:
            await self._steps(compares=compares)
        if compares:
            await compare(self, everything=False)

    async def _steps(self, *, compares: bool = True) -> None:
        """compares: not where it may be cancelled, which leaves chia's readers in the past."""
        async with self.wrapper.writer():
            for _ in range(self.random.randint(1, 4)):
                await self.random.choice(self._steps_to_choose)()
                if compares and self.random.random() < 0.2:
                    await compare(self, everything=False)
                if compares and self.random.random() < 0.2:
                    await asyncio.create_task(compare(self, everything=False))

    async def _undone(self, steps: Awaitable[None]) -> None:
        try:
            async with self.wrapper.writer():
                await steps
                raise UndoneError
        except UndoneError:
            pass

    async def _cancelled(self, steps: Any) -> None:
        task = asyncio.ensure_future(steps)
        await asyncio.sleep(self.random.random() * 0.02)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()
        async with self.wrapper.writer():
            pass  # behind a commit that was begun, which others may see at any time until then

    async def _nested(self) -> None:
        """Steps within a savepoint, which may fail alone."""
        try:
            async with self.wrapper.writer():
                for _ in range(self.random.randint(1, 3)):
                    await self.random.choice([self._block, self._fork])()
                if self.random.random() < 0.6:
                    raise UndoneError
        except UndoneError:
            pass

    async def _block(self) -> None:
        chain = await self._chain()
        await self._add(chain.block(more=self.random.random() < 0.1))

    async def _add(self, made: Made) -> None:
        for store in (self.theirs, self.ours):
            await store.new_block(*made.arguments)
        if made.hints:
            await self.hints.add_hints(made.hints)

    async def _fork(self) -> None:
        """Go back, and on with other blocks."""
        chain = await self._chain()
        depth = self.random.choice([0, 1, 2, 5, 20, chain.height + 2])
        if chain.n_coins > MOST_COINS:
            depth = chain.height // 2
        height = chain.height - depth
        theirs = await self.theirs.rollback_to_block(height)
        ours = await self.ours.rollback_to_block(height)
        assert theirs == ours, f"a rollback to {height} changes other coins"
        for _ in range(self.random.randint(0, 3)):
            await self._block()

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
