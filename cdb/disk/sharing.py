"""What an open database is to others: threads, forked children, and writers in other processes.

One thread writes, any number read, and a `with` closes it.

To a child made by fork() it is nothing, nor is an iteration over its blocks: the child has copies
of all objects, but neither their threads nor the owners of their locks, and two processes that
write through one descriptor destroy the database. So each use there is an error, before it waits
for anything; and what the child drops is never freed, which would take locks, and write.

Who opens files that another process may be changing meanwhile reads them again.
"""

import ctypes
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from os import PathLike
from pathlib import Path
from threading import get_ident
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, Self, TypeVar
from weakref import WeakMethod, WeakSet, finalize

from cdb.errors import (
    DatabaseClosedError,
    DatabaseError,
    UnsupportedError,
    known_path,
    storage_errors,
)

T = TypeVar("T")
P = ParamSpec("P")

TRIES = 100
"""Beside a writer that never rests an error is believed when it came so often."""


class Guard:
    """Closed is closed, and a failed write is final: only opening the database again helps.

    A write that fails midway leaves memory and disk at odds. After a failed fsync the kernel may
    have dropped what it could not write, and a second try would report a success that is none.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = known_path(path)
        self._problem: str | None = None
        self._end = "it is closed; open it again"
        self.closed = False
        self.disowned = False
        self.check_place: Callable[[], None] = _anywhere
        """Raises where the path leads elsewhere by now. It is called before each write, for those
        that write by their path; a write that it prevents has not failed."""

    @property
    def failed(self) -> bool:
        """A write failed."""
        return self._problem is not None

    @property
    def is_fine(self) -> bool:
        """Whether the object can be used; not, while a write is under way."""
        return self._problem is None and not self.closed

    def check(self) -> None:
        """Raise DatabaseClosedError unless the object can be used."""
        if self.closed:
            raise DatabaseClosedError(self.path, self._end)
        if self._problem is not None:
            problem = f"a write failed ({self._problem}); open it again"
            raise DatabaseClosedError(self.path, problem)

    def disown(self) -> None:
        """The object is a copy of one of the process that this one was forked from."""
        self.closed = self.disowned = True
        self._end = "the process that this one was forked from has it open; start a new process"

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run a write; if it raises anything at all, the object has failed.

        It has from the first, and until all is done: a signal handler that raises, too, may cut
        short whatever would say so later.
        """
        self.check()
        self.check_place()
        self._problem = "it was interrupted"
        try:
            yield
        except BaseException as error:
            self._problem = str(error) or type(error).__name__  # fault: failure-is-not-final
            raise
        self._problem = None


def _anywhere() -> None:
    pass


def weakly(method: Callable[[], None]) -> Callable[[], None]:
    """A call of a method that does not keep its object: who is dropped ends at once."""
    found = WeakMethod(method)

    def call() -> None:
        bound = found()
        if bound is not None:
            bound()

    return call


class Closing(ABC):
    """Is closed at the end of a `with`."""

    @abstractmethod
    def close(self) -> None:
        """Release everything. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Shared(Closing):
    """Has one lock, which makes each call whole, and a guard against use after the end.

    Each method that uses what is open is a whole call: @reading, @writing or just @whole; and it
    calls no other one. So what comes in the middle of a call of its own thread is from a signal
    handler or a finalizer. It is refused: it would find half a block, or free what is in use.

    Where the engine keeps readers apart from the one who writes, @beside makes a read of them that
    doesn't take the lock.

    For subclasses: guard, in whose write() all is changed that is stored; read_only, as it was
    given; iteration(), through which each iterator is handed out; mutex, the lock; end_with(), for
    what is open beyond Python's own objects; reads_beside, False where @beside is to be @reading.
    """

    reads_beside = True

    def __init__(self, path: str | PathLike[str], *, read_only: bool) -> None:
        self.mutex = threading.RLock()
        self._inside: set[int] = set()  # the threads that are in a call
        self._is_taken = False  # the lock, by a call; a hint to who does not have it
        self.guard = Guard(path)
        self.read_only = read_only
        _open.add(self)

    def iteration(self, items: Iterable[T]) -> Iterator[T]:
        """The items, to hand out: they end with an error in a child made by fork()."""
        return _Iteration(self.guard.path, iter(items))

    def end_with(self, *ends: Callable[[], object]) -> None:
        """Have these called, in this order, where it is dropped without close(): as in a crash.

        They may find their work done. Of native code's threads and files Python knows nothing: they
        would go on behind a lock that is gone.
        """
        finalize(self, _end, ends).atexit = False

    def _check_outside(self, thread: int) -> None:
        """Raise UnsupportedError if this thread is in the middle of a call."""
        if thread in self._inside:
            problem = "a signal handler or a finalizer called it in the middle of a call"
            raise UnsupportedError(f"{self.guard.path}: {problem}; do so after that one")

    def _check_readable(self) -> None:
        """Raise DatabaseClosedError unless it can be read, also beside a write under way."""
        if not self._is_taken:
            with self.mutex:  # who has it can tell that from one that was interrupted
                self.guard.check()

    def _disown(self) -> None:
        self.mutex = threading.RLock()  # the parent's may be held by a thread that isn't here
        self._inside = set()
        self._is_taken = False
        self.guard.disown()


def _end(ends: Iterable[Callable[[], object]]) -> None:
    for end in ends:
        with suppress(DatabaseError):  # there is nobody to tell
            end()


S = TypeVar("S", bound=Shared)
_Method = Callable[Concatenate[S, P], T]


def _call(method: _Method[S, P, T], *, of_open: bool, writes: bool) -> _Method[S, P, T]:
    # No context manager: one in Python takes a fifth of the time in which a coin is looked up.
    @wraps(method)
    def call(self: S, /, *arguments: P.args, **options: P.kwargs) -> T:
        with self.mutex:  # for the whole call
            thread = get_ident()
            self._check_outside(thread)
            try:  # whatever a signal's handler raises from here on, it does not stay inside
                self._inside.add(thread)
                self._is_taken = True
                if of_open:
                    self.guard.check()
                if writes and self.read_only:
                    problem = "it was opened only for reading"
                    raise UnsupportedError(f"{self.guard.path}: {problem}")
                return method(self, *arguments, **options)
            finally:
                self._is_taken = False
                self._inside.discard(thread)

    return call


def whole(method: _Method[S, P, T]) -> _Method[S, P, T]:
    """Makes a method a whole call, also of what is closed or has failed."""
    return _call(method, of_open=False, writes=False)


def reading(method: _Method[S, P, T]) -> _Method[S, P, T]:
    """Makes a method a whole call of what is open: DatabaseClosedError otherwise."""
    return _call(method, of_open=True, writes=False)


def writing(method: _Method[S, P, T]) -> _Method[S, P, T]:
    """The same, of a writer: UnsupportedError where it was opened only for reading."""
    return _call(method, of_open=True, writes=True)


def beside(method: _Method[S, P, T]) -> _Method[S, P, T]:
    """Makes a read a whole call of its thread, beside those of others.

    The engine sees to it that it finds the state of one moment, and an error after the end. Where
    it doesn't (reads_beside), this is @reading.
    """
    alone = reading(method)

    @wraps(method)
    def call(self: S, /, *arguments: P.args, **options: P.kwargs) -> T:
        if not self.reads_beside:
            return alone(self, *arguments, **options)
        # The usual is seen here, and not in calls: they take as long as a look-up does.
        thread, inside = get_ident(), self._inside
        if thread in inside:
            self._check_outside(thread)
        try:
            inside.add(thread)
            if not self.guard.is_fine:
                self._check_readable()
            return method(self, *arguments, **options)
        finally:
            inside.discard(thread)

    return call


class _Iteration(Generic[T]):
    def __init__(self, path: str | PathLike[str], items: Iterator[T]) -> None:
        self.guard = Guard(path)
        self._items = items
        self._end: BaseException | None = None
        _open.add(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        self.guard.check()
        if self._end is not None:
            self._end_again(self._end)
        try:
            return next(self._items)
        except StopIteration:
            raise
        except BaseException as error:
            self._end = error  # after it the items may go on, or end, as if none were missing
            raise

    def close(self) -> None:
        """Let go of what the items are read from, as at their end."""
        if not self.guard.disowned:
            self._items = iter(())

    def _end_again(self, error: BaseException) -> NoReturn:
        if isinstance(error, DatabaseError):
            raise error.with_traceback(None)
        problem = f"this iteration was interrupted ({str(error) or type(error).__name__})"
        raise DatabaseClosedError(self.guard.path, f"{problem}; begin it again")

    def _disown(self) -> None:
        self.guard.disown()


_open: "WeakSet[Shared | _Iteration[Any]]" = WeakSet()


def _disown_all() -> None:
    for each in list(_open):
        each._disown()  # fault: forked-child-goes-on
        # Never freed, not even when Python ends: SQLite would roll back what the parent has not
        # committed, in the memory that the two share.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


os.register_at_fork(after_in_child=_disown_all)


def read_unchanged(
    read: Callable[[], T], marks: Callable[[], object], *errors: type[DatabaseError]
) -> T:
    """What read() gives, which is called again as long as it fails and a writer changes something.

    marks: gives others when a writer has changed what read() reads. errors: those that a writer may
    cause; a file that it has removed looks like damage.
    """
    for _ in range(TRIES - 1):
        before = marks()
        try:
            return read()
        except errors:
            if marks() == before:
                raise
    return read()


def file_marks(directory: Path) -> list[tuple[str, int, int]]:
    """What a writer could not leave as it is: the names of all files in it, also those in
    directories of an engine's, and their sizes and times."""
    state = []
    with storage_errors(directory):
        for folder, _, names in os.walk(directory):
            for path in (Path(folder, name) for name in names):
                with suppress(FileNotFoundError):
                    status = path.stat()
                    state.append((str(path), status.st_size, status.st_mtime_ns))
    return sorted(state)
