"""Twins of the good small store that end early, where a trial might not look: the trials' own test.

Each fails, or dies, for a reason that has nothing to do with the fault that is put in. A trial that
takes any error for a kept promise would pass it without having seen anything.
"""

import ctypes
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from cdb.engines.files import storage_errors
from cdb.errors import CorruptDatabaseError, DatabaseNotFoundError, StorageError
from cdb.testing.faults.broken import Good

MAP_BYTES = 1 << 38
RESERVED_BYTES = 1 << 32


class MapsFar(Good):
    """Reads through a mapping of 256 GiB, however short the file is, and believes what it reads."""

    CHECKSUM = False

    def _read(self, path: Path, size_bytes: int) -> bytes:
        with path.open("rb") as file, _mapped(file.fileno()) as address:
            return ctypes.string_at(address, size_bytes)


@contextmanager
def _mapped(descriptor: int) -> Iterator[int]:
    """Python's own mmap refuses a mapping that is longer than its file."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    address = library.mmap(None, MAP_BYTES, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    try:
        yield address
    finally:
        library.munmap(address, MAP_BYTES)


class Reserves(Good):
    """Takes 4 GiB when it is opened, though it needs none of it."""

    CHECKSUM = False

    def __init__(self, path: str | PathLike[str]) -> None:
        with storage_errors(Path(path)):
            try:
                mmap.mmap(-1, RESERVED_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
            except OSError as error:
                raise StorageError(path, f"no memory: {error}") from error
        super().__init__(path)


class BlamesTheDisk(Good):
    """Finds all damage, and calls it a failing disk."""

    def _load(self) -> None:
        try:
            super()._load()
        except CorruptDatabaseError as error:
            raise StorageError(error.path, "it cannot be read") from error


class SeesDamageEverywhere(Good):
    """Whoever only reads is told of damage."""

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False) -> None:
        super().__init__(path)
        if read_only:
            self.close()
            raise CorruptDatabaseError(path, "it is opened only for reading")


class SeesNothing(Good):
    """Takes what is damaged for what is not there."""

    def _load(self) -> None:
        try:
            super()._load()
        except CorruptDatabaseError as error:
            raise DatabaseNotFoundError(error.path, "it holds nothing") from error
