"""Twins of the good small store that end early, where a trial might not look: the trials' own test.

Each fails, or dies, for a reason that has nothing to do with the fault that is put in. A trial that
takes any error for a kept promise would pass it without having seen anything.
"""

import ctypes
import mmap
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo, bytes32
from cdb.errors import (
    BlockOrderError,
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseNotFoundError,
    StorageError,
    storage_errors,
)
from tests.faults.broken import Good

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


def _runs_alone() -> bool:
    """Whether this is a process of a trial, which may be watched, or killed."""
    return multiprocessing.parent_process() is not None


class FailsWatched(Good):
    """Can't be opened in a process of a trial."""

    def __init__(self, path: str | PathLike[str]) -> None:
        if _runs_alone():
            raise StorageError(path, "it cannot be opened")
        super().__init__(path)


class DiesWatched(Good):
    """Dies there."""

    def _save(self) -> None:
        if _runs_alone():
            os.abort()
        super()._save()


class AltersWatched(Good):
    """Keeps another timestamp there."""

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        timestamp = block_spend_info.timestamp // 2 if _runs_alone() else block_spend_info.timestamp
        super().accept_block(replace(block_spend_info, timestamp=timestamp))


class FailsTheSecondTime(Good):
    """Makes many calls in the first script of a trial, and fails soon in all others."""

    def _save(self) -> None:
        first, process = self._home.parents[1] / "first", str(os.getpid())
        if _runs_alone() and not first.exists():
            first.write_text(process)
            for _ in range(100):
                self._replace(self._home / "unused", b"unused")
        if _runs_alone() and first.read_text() != process:
            raise StorageError(self._home, "not again")
        super()._save()


class DiesBeforeItIsKilled(Good):
    """Ends by a signal that nobody sent, when it runs alone."""

    def flush(self) -> None:
        """See Schema."""
        if _runs_alone():
            signal.raise_signal(signal.SIGSEGV)
        super().flush()


class WantsMuch(Good):
    """Makes a file far longer than it needs."""

    def _save(self) -> None:
        with (self._home / "reserve").open("wb") as file:
            file.truncate(1 << 30)
        super()._save()


class SendsReadersAway(Good):
    """Lets nobody read beside the writer."""

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False) -> None:
        if read_only:
            raise DatabaseClosedError(path, "it was rewound; open it again")
        super().__init__(path)


class FindsNothing(Good):
    """Answers each lookup as if no coin had ever been."""

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        return []


class ChecksBlocksFirst(Good):
    """In a child it refuses the block, and not the child."""

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        if self.guard.closed:
            raise BlockOrderError("it is not newer", block_spend_info.index)
        super().accept_block(block_spend_info)
