"""A number that one process counts, and another one looks at meanwhile."""

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from cdb.contract.progress import Progress

_NUMBER = struct.Struct("=Q")
_LOOK_SECONDS = 0.5


class Counter:
    """Counts in a file, from 0."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._number = 0

    def add(self, more: int) -> None:
        """So much more is done."""
        self._number += more
        os.pwrite(self._file, _NUMBER.pack(self._number), 0)


@contextmanager
def watched(path: Path, tell: Progress) -> Iterator[None]:
    """Tell meanwhile of what a Counter counts in a file, which may not be there yet."""
    ended = Event()
    thread = Thread(target=_watch, args=(path, tell, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(path: Path, tell: Progress, ended: Event) -> None:
    told, has_ended = 0, False
    while not has_ended:
        has_ended = ended.wait(_LOOK_SECONDS)
        number = _number_in(path)
        tell(number - told)
        told = number


def _number_in(path: Path) -> int:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return 0
    return int(*_NUMBER.unpack(content)) if content else 0
