"""What calls take, and how late the event loop is meanwhile."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from time import perf_counter, process_time

_NAP_SECONDS = 0.001


class Stopwatch:
    """Seconds of CPU, of all threads of the process, and of the clock."""

    def __init__(self) -> None:
        self.cpu_seconds = 0.0
        self.wall_seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what this takes."""
        wall, cpu = perf_counter(), process_time()
        yield
        self.cpu_seconds += process_time() - cpu
        self.wall_seconds += perf_counter() - wall

    def figures(self, number: int, per: str = "") -> dict[str, float | None]:
        """The mean of so many, in microseconds."""
        return {
            f"cpu_microseconds{per}": 1e6 * self.cpu_seconds / number,
            f"wall_microseconds{per}": 1e6 * self.wall_seconds / number,
        }


@asynccontextmanager
async def watched_loop() -> AsyncIterator[list[float]]:
    """A task sleeps a millisecond, again and again: how many seconds late it woke, each time."""
    late: list[float] = []
    task = asyncio.ensure_future(_watch(late))
    try:
        yield late
        await asyncio.sleep(2 * _NAP_SECONDS)  # it may still be due
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _watch(late: list[float]) -> None:
    while True:
        due = perf_counter() + _NAP_SECONDS
        await asyncio.sleep(_NAP_SECONDS)
        late.append(max(0.0, perf_counter() - due))
