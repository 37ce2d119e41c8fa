"""Makes items in a thread of its own while the one who takes them works on those before."""

from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _End:
    """Takes the place of an item after the last one; error: what ended them, or None."""

    error: BaseException | None


def read_ahead(items: Iterable[T], depth: int = 2) -> Generator[T, None, None]:
    """Yield the items in order, of which up to `depth` and the one at hand are made beforehand.

    What making them raises is raised in its place. Both sides run at the same time as far as they
    release the interpreter's lock. When the consumer stops early, the thread ends with the item
    that it is at, or, if that never comes, with the process. Where the system has no thread to
    give, each item is made when it is asked for.
    """
    made: Queue[T | _End] = Queue(depth)
    stopped = Event()
    # A daemon, because a read of a silent pipe would otherwise outlast the end of the program.
    if not _starts(Thread(target=_make, args=(items, made, stopped), name="ahead", daemon=True)):
        yield from items
        return
    try:
        while not isinstance(item := made.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        stopped.set()
        with suppress(Empty):
            while True:
                made.get_nowait()


def _starts(thread: Thread) -> bool:
    """Start a thread; whether there was one to be had."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


def _make(items: Iterable[T], made: "Queue[T | _End]", stopped: Event) -> None:
    try:
        for item in items:
            made.put(item)
            if stopped.is_set():
                return
    except BaseException as error:
        made.put(_End(error))
    else:
        made.put(_End(None))
