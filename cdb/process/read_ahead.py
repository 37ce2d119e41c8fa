"""Makes items in threads of their own while the one who takes them works on those before."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from typing import TypeVar

S = TypeVar("S")
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


def made_beside(
    make: Callable[[S], T], items: Iterable[S], threads: int = 2
) -> Generator[T, None, None]:
    """Yield make(item) of each item in order, made in so many threads.

    The items themselves come in the caller's thread, some before they are wanted. What an item or
    make() raises is raised in its place. Where the system has no thread to give, the caller makes
    them.
    """
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[T]] = deque()
    try:
        for made in _submitted(pool, make, items):
            waiting.append(made)
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _submitted(
    pool: ThreadPoolExecutor, make: Callable[[S], T], items: Iterable[S]
) -> "Iterator[Future[T]]":
    try:
        for item in items:
            try:
                made = pool.submit(make, item)
            except RuntimeError:  # there is no thread
                pool.shutdown(wait=False)  # else it keeps this item, and each one to come
                made = Future()
                made.set_result(make(item))
            yield made
    except Exception as error:
        last: Future[T] = Future()
        last.set_exception(error)
        yield last


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
