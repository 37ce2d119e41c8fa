"""What of files is in memory: all of them, or, as far as the system lets go, nothing.

A file that a thread of an engine has removed meanwhile is passed over.
"""

import ctypes
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from io import FileIO
from pathlib import Path

from cdb.lab.process import NotMeasuredError

_CHUNK_BYTES = 1 << 20
_WINDOW_BYTES = 1 << 30


def fill(path: Path) -> None:
    """Read the file once, so that it comes from memory next time."""
    buffer = bytearray(_CHUNK_BYTES)
    for stream in _opened([path]):
        while stream.readinto(buffer):
            pass


def drop(paths: Iterable[Path]) -> None:
    """Let go of the files' pages, but those that a process has mapped. Needs no root.

    Raises NotMeasuredError where the system can't.
    """
    if not hasattr(os, "posix_fadvise"):
        raise NotMeasuredError("this system has no posix_fadvise")
    for stream in _opened(paths):
        os.fsync(stream.fileno())  # a page that is still to be written would stay
        os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def resident_bytes(paths: Iterable[Path]) -> int | None:
    """How much of the files is in memory, in whole pages; None where the system doesn't say."""
    mincore = getattr(ctypes.CDLL(None), "mincore", None)
    if mincore is None:
        return None
    pages = 0
    for stream in _opened(paths):
        size_bytes = os.fstat(stream.fileno()).st_size
        for offset in range(0, size_bytes, _WINDOW_BYTES):
            n_bytes = min(size_bytes - offset, _WINDOW_BYTES)
            # A private mapping that nobody has touched shows the page cache.
            with mmap.mmap(
                stream.fileno(), n_bytes, access=mmap.ACCESS_COPY, offset=offset
            ) as window:
                pages += _resident_pages(window, mincore)
    return pages * mmap.PAGESIZE


def _opened(paths: Iterable[Path]) -> Iterator[FileIO]:
    """Each, until the next one is asked for."""
    for path in paths:
        try:
            stream = path.open("rb", buffering=0)
        except FileNotFoundError:
            continue
        with stream:
            yield stream


def _resident_pages(window: mmap.mmap, mincore: Callable[..., int]) -> int:
    found = (ctypes.c_ubyte * -(-len(window) // mmap.PAGESIZE))()
    start = ctypes.c_ubyte.from_buffer(window)  # until it is gone the window can't be closed
    if mincore(ctypes.byref(start), ctypes.c_size_t(len(window)), found):
        raise OSError("mincore failed")
    return sum(page & 1 for page in found)
