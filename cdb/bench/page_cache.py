"""What of a file is in memory: all of it, or, as far as the system lets go, nothing."""

import os
from collections.abc import Iterable
from pathlib import Path

from cdb.bench.process import NotMeasuredError

_CHUNK_BYTES = 1 << 20


def fill(path: Path) -> None:
    """Read the file once, so that it comes from memory next time."""
    buffer = bytearray(_CHUNK_BYTES)
    with path.open("rb", buffering=0) as stream:
        while stream.readinto(buffer):
            pass


def drop(paths: Iterable[Path]) -> None:
    """Let go of the files' pages, but those that a process has mapped. Needs no root.

    Raises NotMeasuredError where the system can't.
    """
    if not hasattr(os, "posix_fadvise"):
        raise NotMeasuredError("this system has no posix_fadvise")
    for path in paths:
        with path.open("rb", buffering=0) as stream:
            os.fsync(stream.fileno())  # a page that is still to be written would stay
            os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
