"""Reading a directory of RocksDB's that a writer may be changing meanwhile."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from cdb.engines.files import storage_errors
from cdb.errors import CorruptDatabaseError, DatabaseLockedError

T = TypeVar("T")

TRIES = 100
"""Beside a writer that never rests an error is believed when it came so often."""


def read_unchanged(directory: Path, read: Callable[[], T]) -> T:
    """What read() gives, which is called again as long as it fails and files change.

    Files that a writer has merged meanwhile look as if they were missing, or it finds a writer at
    work.
    """
    for _ in range(TRIES - 1):
        before = _state(directory)
        try:
            return read()
        except (CorruptDatabaseError, DatabaseLockedError):
            if _state(directory) == before:
                raise
    return read()


def _state(directory: Path) -> list[tuple[str, int, int]]:
    """What a writer could not leave as it is: the files' names, and their sizes and times."""
    state = []
    with storage_errors(directory):
        for path in sorted(directory.glob("*")):
            try:
                status = path.stat()
            except FileNotFoundError:
                continue
            state.append((path.name, status.st_size, status.st_mtime_ns))
    return state
