"""A coin log that follows a node's SQLite file: what is committed there is applied here.

An operation is staged: a row in the writer's transaction, and kept here. Once SQLite shows that it
is committed, the next call applies it to the log, before it reads. So a block, a peak and their
coins are committed by SQLite, in one step; the log may lag, and opening catches up. See
docs/why/node-coin-store.md for what crashes and power cuts make of it.
"""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar

from cdb.contract.coins import MAX_U32
from cdb.errors import CdbError, DatabaseClosedError
from cdb.node import marked_table, ops_table
from cdb.node.kept_rows import are_kept
from cdb.node.log import Log, apply, block_of, tip_up_to
from cdb.node.marked_table import Changes
from cdb.node.operation import Block, Effect, Operation, Tip, effect_of
from cdb.node.overlay import Overlay, View
from cdb.node.worker import Worker

T = TypeVar("T")

FLUSH_OPERATIONS = 64
FLUSH_SECONDS = 5.0
READERS = 4
"""As many as DBWrapper2 has connections for them."""
_TRIES = 3
"""So often a read begins beside the blocks, before one that they change is made in turn with them.
"""
_NOT_COMMITTED = -1


class Follower:
    """The coins of one DBWrapper2: the log, and what it has not seen yet.

    Blocks and what they need have a thread of their own, and what others ask has others: a block
    waits for no call of a peer, but for the one query of the log that is under way.

    file: the SQLite file; None for one in memory, whose log lies in a directory that goes with it.
    All methods are for the event loop's thread. They take the wrapper, which they do not keep: when
    nobody has it any more, this is closed.
    """

    def __init__(
        self, log: Log, log_path: Path, file: Path | None, operations: list[Operation]
    ) -> None:
        self._log = log
        self._log_path = log_path
        self._file = file
        self._look = None if file is None else _looking_at(file)
        self._worker = Worker()
        self._readers = Worker(READERS, "cdb-reads")
        self._staged: list[Operation] = []
        self._overlay: Overlay | None = None
        self._applying: asyncio.Task[None] | None = None
        self._behind: asyncio.Task[None] | None = None
        self._log_tip = tip_up_to(log, log_path, MAX_U32)
        self.n_begun = self._n_rewound = 0
        """Effects that were begun to be applied, and those of them that take blocks away."""
        self._flushed = operations[-1].number
        self._deleted = -1
        self._next = self._flushed + 1
        self._flush_at = monotonic() + FLUSH_SECONDS
        self._unflushed = 0

    async def view(self, wrapper: Any) -> View:
        """The coins as the task that asks has to see them: committed, and its own."""
        self._check_open()
        if self._staged or self._applying is not None:
            await self._apply_committed(wrapper)
            if self._staged and _is_writer(wrapper):
                return await self._own_view(wrapper._write_connection)
        return self._log

    async def read(
        self,
        wrapper: Any,
        question: Callable[[View], T],
        n_coins: int,
        *,
        in_steps: bool = False,
    ) -> T:
        """What a question gives about coins as the task that asks has to see them, as of a moment.

        n_coins: how many it reads. in_steps: by more than one query. It is asked beside the blocks,
        and again where they have changed what it saw.
        """
        view = await self.view(wrapper)
        for _ in range(_TRIES):
            if view is not self._log:
                break  # the writer's own
            before = self._changes(in_steps=in_steps)
            answer = await self._run(self._readers, partial(question, view), n_coins)
            if self._changes(in_steps=in_steps) == before:
                return answer
            view = await self.view(wrapper)
        return await self.in_turn(partial(question, view), n_coins)

    async def in_turn(self, call: Callable[[], T], n_coins: int) -> T:
        """What a call gives that reads so many coins of a view, in turn with the blocks."""
        return await self._run(self._worker, call, n_coins)

    async def _run(self, worker: Worker, call: Callable[[], T], n_coins: int) -> T:
        self._check_open()
        if self._worker.is_idle or self._readers.is_idle:
            return await worker.run(call, n_coins)
        # Who reads now may wait for one who waits to change the log: not on the loop.
        return await worker.outcome(call)

    def _changes(self, *, in_steps: bool) -> int:
        """How often what a read sees has changed. One query sees all of a block, or nothing."""
        return self.n_begun if in_steps else self._n_rewound

    def newest(self, view: View) -> Tip:
        """The newest block of a view that has coins."""
        return self._tip_below(view, MAX_U32 + 1)

    def newest_block(self, view: View) -> Block:
        """The same with its contents."""
        if isinstance(view, Overlay) and view.newest is not None:
            return view.newest
        return block_of(self._log, self.newest(view).height)

    async def stage(
        self,
        wrapper: Any,
        connection: Any,
        view: View,
        height: int,
        block: Block | None,
        marked: Changes,
    ) -> None:
        """Go back to below a height, and add a block there or none, in the writer's transaction.

        view: the writer's, as it is now. marked: the coins that this marks, and others. Cancelled
        or not, the row decides: the operation is here before SQLite may have it.
        """
        await marked_table.add(connection, marked.added)
        operation = Operation(self._next, height, self._tip_below(view, height), block)
        self._next += 1
        self._staged.append(operation)
        if self._overlay is not None:
            self._overlay.add(operation)
        try:
            await ops_table.insert(connection, operation)
            await self._delete_flushed(connection)
            await marked_table.take_away(connection, marked.gone)
        finally:
            if self._file is None:
                self._apply_behind(wrapper)

    async def _delete_flushed(self, connection: Any) -> None:
        """Delete what the log has for sure. A newer row is there: the newest has to stay.

        The number comes first: whoever begins to keep rows behind it finds these in the log.
        """
        number = self._flushed
        if number > self._deleted and not self._are_rows_kept():
            self._deleted = number
            await ops_table.delete_up_to(connection, number)

    def _are_rows_kept(self) -> bool:
        return self._file is not None and are_kept(self._log_path)

    def _check_open(self) -> None:
        """Raise DatabaseClosedError after the end: the thread would never answer."""
        if self._worker.has_ended:
            problem = "another wrapper of SQLite has opened the same file; use that one's store"
            raise DatabaseClosedError(self._log_path, problem)

    def end(self) -> None:
        """Begin to close the log. What it has not seen yet is applied on opening."""
        self._readers.end()
        self._worker.end(self._close)

    def close(self) -> None:
        """Close the log, and wait for that."""
        self.end()
        self._worker.join()

    def _close(self) -> None:
        self._readers.join()
        if self._look is not None:
            self._look.close()
        with suppress(CdbError):  # nobody is there to be told, and the rows are
            self._log.close()
        if self._file is None:
            shutil.rmtree(self._log_path.parent, ignore_errors=True)

    # What is committed is applied.

    async def _apply_committed(self, wrapper: Any) -> None:
        """Apply all that is committed; where that is under way, wait for it."""
        while True:
            if self._applying is not None:
                await asyncio.shield(self._applying)
            elif not self._staged:
                return
            else:
                committed = await self._committed(wrapper)
                if self._applying is None and not self._apply_up_to(committed):
                    return

    async def _committed(self, wrapper: Any) -> int:
        """The newest number that others than the writer see."""
        try:
            if self._look is not None:
                [(number,)] = self._look.execute(ops_table.NEWEST).fetchall()
                return _NOT_COMMITTED if number is None else int(number)
            if _is_writer(wrapper):
                return _NOT_COMMITTED
            async with wrapper.reader_no_transaction() as connection:
                return await ops_table.newest_number(connection)
        except sqlite3.OperationalError as error:
            if not _is_lock(error):
                raise
            return _NOT_COMMITTED

    def _apply_up_to(self, committed: int) -> bool:
        """Begin to apply what is committed; False: there is nothing."""
        if not self._staged or self._staged[0].number > committed:
            return False
        operations = [each for each in self._staged if each.number <= committed]
        effect = effect_of(operations)
        n_coins = sum(block.n_coins for block in effect.blocks)
        rewinds = self._log_tip.height >= effect.height
        self.n_begun += 1
        self._n_rewound += rewinds
        is_idle = self._worker.is_idle and self._readers.is_idle
        if self._worker.is_small(n_coins) and is_idle and not rewinds:
            self._worker.timed(lambda: self._apply(effect))
            self._note(operations)
        else:
            self._applying = asyncio.ensure_future(self._apply_beside(operations, effect))
        return True

    async def _apply_beside(self, operations: list[Operation], effect: Effect) -> None:
        """Apply an effect in the thread. A task of its own: nobody's end cuts it short."""
        try:
            self._check_open()
            await self._worker.outcome(lambda: self._apply(effect))
            self._note(operations)
        finally:
            self._applying = None

    def _apply(self, effect: Effect) -> None:
        self._log_tip = apply(self._log, effect, self._log_tip, self._file)

    def _note(self, operations: list[Operation]) -> None:
        """These are in the log."""
        self._staged = self._staged[len(operations) :]
        self._overlay = None
        self._unflushed += len(operations)
        if self._unflushed >= FLUSH_OPERATIONS or monotonic() > self._flush_at:
            self._unflushed = 0
            self._flush_at = monotonic() + FLUSH_SECONDS
            number = operations[-1].number
            self._worker.submit(lambda: self._flush(number))

    def _flush(self, number: int) -> None:
        self._log.flush()
        self._flushed = number

    def _apply_behind(self, wrapper: Any) -> None:
        """In memory what is committed can't be told while anybody writes: ask between two."""
        if self._behind is None or self._behind.done():
            self._behind = asyncio.ensure_future(self._apply_in_turn(wrapper))

    async def _apply_in_turn(self, wrapper: Any) -> None:
        with suppress(sqlite3.Error, ValueError):  # ValueError: it was closed meanwhile
            async with wrapper.writer_maybe_transaction() as connection:
                committed = await ops_table.newest_number(connection)
                if self._applying is None:
                    self._apply_up_to(committed)

    # What the writer sees.

    async def _own_view(self, connection: Any) -> View:
        """What the writer's task sees: without what its transactions have undone."""
        newest = await ops_table.newest_number(connection)
        if self._staged[-1].number > newest:
            self._staged = [each for each in self._staged if each.number <= newest]
            self._overlay = None
        if not self._staged:
            return self._log
        if self._overlay is None:
            self._overlay = Overlay(self._log, self._staged)
        return self._overlay

    def _tip_below(self, view: View, height: int) -> Tip:
        """The newest block of a view that has coins and is below a height."""
        if isinstance(view, Overlay):
            newest = view.newest_below(height)
            if newest is not None:
                return newest.tip
            height = min(height, view.below)
        if self._log_tip.height < height:
            return self._log_tip
        return tip_up_to(self._log, self._log_path, height - 1)


def _is_writer(wrapper: Any) -> bool:
    """Whether the running task is the one that holds the write connection."""
    return wrapper._current_writer is asyncio.current_task()


def _looking_at(file: Path) -> sqlite3.Connection:
    """A connection that sees what is committed, and nothing else.

    It may write, although it never does: the last one to be closed has to take the -wal away.
    """
    connection = sqlite3.connect(file, timeout=0, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA query_only = 1")
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # now it has its files
    except sqlite3.OperationalError as error:
        if not _is_lock(error):
            connection.close()
            raise
    return connection


def _is_lock(error: sqlite3.OperationalError) -> bool:
    """Whether a writer is about to commit, or the database is in memory. Any other error may hide
    what is committed."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
