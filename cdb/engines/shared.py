"""What an open database is to threads: one writes, any number read, and a `with` closes it.

To a child made by fork() it is nothing, nor is an iteration over its blocks: the child has copies
of all objects, but neither their threads nor the owners of their locks, and two processes that
write through one descriptor destroy the database. So each use there is an error, before it waits
for anything; and what the child drops is never freed, which would take locks, and write.
"""

import ctypes
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, Generic, Self, TypeVar
from weakref import WeakSet

from cdb.engines.guard import Guard
from cdb.errors import UnsupportedError

T = TypeVar("T")


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

    Reads take the lock and check the guard; so do writes, which _writing() wraps.
    """

    def __init__(self, path: str | PathLike[str], *, read_only: bool) -> None:
        self._mutex = threading.RLock()
        self._guard = Guard(path)
        self._read_only = read_only
        _open.add(self)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._mutex:
            self._guard.check()
            if self._read_only:
                raise UnsupportedError(f"{self._guard.path}: it was opened only for reading")
            yield

    def _iteration(self, items: Iterable[T]) -> Iterator[T]:
        """The items, to hand out: they end with an error in a child made by fork()."""
        return _Iteration(self._guard.path, iter(items))

    def _disown(self) -> None:
        self._mutex = threading.RLock()  # the parent's may be held by a thread that isn't here
        self._guard.disown()


class _Iteration(Generic[T]):
    def __init__(self, path: str | PathLike[str], items: Iterator[T]) -> None:
        self._guard = Guard(path)
        self._items = items
        _open.add(self)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        self._guard.check()
        return next(self._items)

    def _disown(self) -> None:
        self._guard.disown()


_open: "WeakSet[Shared | _Iteration[Any]]" = WeakSet()


def _disown_all() -> None:
    for each in list(_open):
        each._disown()
        # Never freed, not even when Python ends: SQLite would roll back what the parent has not
        # committed, in the memory that the two share.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


os.register_at_fork(after_in_child=_disown_all)
