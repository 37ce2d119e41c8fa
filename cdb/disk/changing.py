"""Reading files that a writer may be changing meanwhile."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from cdb.disk.files import storage_errors
from cdb.errors import DatabaseError

T = TypeVar("T")

TRIES = 100
"""Beside a writer that never rests an error is believed when it came so often."""


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
