"""How late the event loop is while calls are made."""

import asyncio
from array import array
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from time import perf_counter

NAP_SECONDS = 0.001


class Lateness:
    """late: how many seconds later than asked a task woke, each time that it slept a little."""

    def __init__(self, nap_seconds: float) -> None:
        self.late = array("d")
        self._nap_seconds = nap_seconds
        self._due = 0.0
        self._ours_seconds = 0.0

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What holds the loop up here is no store: it doesn't count."""
        start = perf_counter()
        yield
        self._ours_seconds += max(0.0, perf_counter() - max(start, self._due))

    async def watch(self) -> None:
        """Sleep and look, without end."""
        while True:
            self._due, self._ours_seconds = perf_counter() + self._nap_seconds, 0.0
            await asyncio.sleep(self._nap_seconds)
            self.late.append(max(0.0, perf_counter() - self._due - self._ours_seconds))


@asynccontextmanager
async def watched_loop(nap_seconds: float = NAP_SECONDS) -> AsyncIterator[Lateness]:
    """A task sleeps, again and again: how late it woke, each time."""
    lateness = Lateness(nap_seconds)
    task = asyncio.ensure_future(lateness.watch())
    try:
        yield lateness
        await asyncio.sleep(2 * nap_seconds)  # it may still be due
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
