"""What an open database is to threads: one writes, any number read, and a `with` closes it.

To a child made by fork() it is nothing: the child has copies of all objects, but neither their
threads nor their locks, and two processes that write through one descriptor destroy the database.
"""

import ctypes
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Self
from weakref import WeakSet

from cdb.engines.guard import Guard
from cdb.errors import UnsupportedError


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


_open: WeakSet[Shared] = WeakSet()


def _disown_all() -> None:
    for shared in list(_open):
        shared._mutex = threading.RLock()  # the parent's may be held by a thread that isn't here
        shared._guard.disown()
        # Never freed, not even when Python ends: SQLite would roll back what the parent has not
        # committed, in the memory that the two share.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(shared))


os.register_at_fork(after_in_child=_disown_all)
