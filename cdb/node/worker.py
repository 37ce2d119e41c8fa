"""Where a call runs: on the event loop while that is quick, else in a thread beside it.

A hop to a thread and back costs as much as a hundred look-ups whose pages are in memory. A page of
a spinning disk costs more than a hundred hops. Whether pages are in memory nobody can ask, so what
calls took lately has to tell.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from time import perf_counter
from typing import Any, TypeVar

T = TypeVar("T")

SMALL_COINS = 300
"""A call for so many runs on the loop."""
_SLOW_SECONDS = 0.005
_QUICK_CALLS = 30
"""So many quick ones in a row, in the thread, and calls come back to the loop."""


_Call = tuple["asyncio.Future[Any] | None", Callable[[], Any]]
"""What is told of its outcome, if anybody is, and the call."""


class Worker:
    """One thread, whose calls follow on each other; or several, of which each takes the next call.

    No executor: its end takes locks, and a finalizer, which may come in the middle of anything,
    must not. A SimpleQueue is made for that.
    """

    def __init__(self, n_threads: int = 1, name: str = "cdb-coins") -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._n_submitted = 0
        self._n_done = [0] * n_threads  # each thread has one of its own to change
        self._calls_to_prove = 0
        self.has_ended = False
        self._threads = [
            Thread(target=_work, args=(self._calls, self._n_done, place), name=name, daemon=True)
            for place in range(n_threads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def is_idle(self) -> bool:
        """Whether no thread has anything to do.

        Futures don't tell: one that is cancelled is done while the call before it still runs.
        """
        return sum(self._n_done) == self._n_submitted

    def is_small(self, n_coins: int) -> bool:
        """Whether a call for so many coins belongs on the loop."""
        return n_coins <= SMALL_COINS and not self._calls_to_prove

    def timed(self, call: Callable[[], T]) -> T:
        """Make a call here, and learn from how long it takes."""
        started = perf_counter()
        try:
            return call()
        finally:
            if perf_counter() - started > _SLOW_SECONDS:
                self._calls_to_prove = _QUICK_CALLS
            elif self._calls_to_prove:
                self._calls_to_prove -= 1

    def submit(self, call: Callable[[], object]) -> None:
        """Have a thread make a call, which is of no small number of coins; nobody is told."""
        self._put(None, call)

    async def outcome(self, call: Callable[[], T]) -> T:
        """The same, and what it gives. Cancelled before a thread comes to it, it is not made."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._put(future, call)
        return await future

    async def run(self, call: Callable[[], T], n_coins: int) -> T:
        """What a call gives, made where it belongs."""
        if self.is_small(n_coins):
            return self.timed(call)
        if n_coins <= SMALL_COINS:
            return await self.outcome(lambda: self.timed(call))
        return await self.outcome(call)

    def _put(self, future: "asyncio.Future[Any] | None", call: Callable[[], object]) -> None:
        self._n_submitted += 1
        self._calls.put((future, call))

    def end(self, last: Callable[[], None] = lambda: None) -> None:
        """Make one more call, and no other; waits for nothing.

        One thread makes it after all others; of several, each ends after what it is making by then.
        """
        if not self.has_ended:
            self.has_ended = True
            self._calls.put((None, last))
            for _ in self._threads:
                self._calls.put(None)

    def join(self) -> None:
        """Wait until all that was begun has ended."""
        for thread in self._threads:
            thread.join()


def _work(calls: "SimpleQueue[_Call | None]", n_done: list[int], place: int) -> None:
    while (item := calls.get()) is not None:
        future, call = item
        tell: partial[None] | None = None
        if future is None or not future.cancelled():
            try:
                tell = partial(_set_result, future, call())
            except BaseException as error:
                tell = partial(_set_exception, future, error)
        n_done[place] += 1
        if future is not None and tell is not None:
            with suppress(RuntimeError):  # the loop was closed: nobody waits any more
                future.get_loop().call_soon_threadsafe(tell)
        del item, future, call, tell  # nothing is kept alive until the next one


def _set_result(future: "asyncio.Future[Any] | None", result: object) -> None:
    if future is not None and not future.done():
        future.set_result(result)


def _set_exception(future: "asyncio.Future[Any] | None", error: BaseException) -> None:
    if future is not None and not future.done():
        future.set_exception(error)
