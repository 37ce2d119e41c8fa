"""A small store that keeps its promises, and twins of it that each break one: the faults' own test.

PATH/LOCK       flock
PATH/N          replay text of all blocks at the N-th flush
PATH/CURRENT    "N BYTES CRC32": which of them counts; replaced as a whole
"""

import mmap
import os
import zlib
from contextlib import suppress
from io import BytesIO
from os import PathLike
from pathlib import Path

from cdb.disk.home import Lock
from cdb.errors import (
    BlockError,
    CorruptDatabaseError,
    DatabaseNotFoundError,
    ReplayError,
    storage_errors,
)
from cdb.schemas.memory import MemorySchema
from cdb.text.replay import block_text, read_blocks


class Good(MemorySchema):
    """Writes everything at each flush, and then says that it counts. The switches break it."""

    FSYNC = True
    FSYNC_DIRECTORY = True
    FSYNC_AT_OPENING = True
    CHECKSUM = True
    DATA_FIRST = True
    FSYNC_TRIES = 1
    LOCK = True

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__()
        self._home = Path(path)
        self._number = 0
        with storage_errors(self._home):
            if not self._home.parent.is_dir():
                raise DatabaseNotFoundError(self._home, "its parent directory is missing")
            self._home.mkdir(exist_ok=True)
            self._fsync_directory(self._home.parent)
        lock = "LOCK" if self.LOCK else f"LOCK.{id(self)}"
        self._only = Lock(self._home / lock, self._home)
        try:
            with storage_errors(self._home):
                if self.FSYNC_AT_OPENING:
                    self._fsync_directory(self._home)
                self._load()
        except BaseException:
            self._only.release()
            raise

    def close(self) -> None:
        """See Schema."""
        if not self.guard.closed:
            try:
                super().close()
            finally:
                self._only.release()

    def _flush(self) -> None:
        with self.guard.write(), storage_errors(self._home):
            if self._dirty:
                self._save()
            self._dirty = False

    def _load(self) -> None:
        current = self._home / "CURRENT"
        if not current.exists():
            return
        try:
            number, size, checksum = map(int, current.read_bytes().split())
            data = self._read(self._home / str(number), size)
            if self.CHECKSUM and (len(data), zlib.crc32(data)) != (size, checksum):
                raise CorruptDatabaseError(self._home / str(number), "its CRC-32 differs")
            for block in read_blocks(BytesIO(data)):
                self.accept_block(block)
        except (ValueError, FileNotFoundError, ReplayError, BlockError) as error:
            raise CorruptDatabaseError(current, f"damaged: {error}") from error
        self._number = number
        self._dirty = False

    def _read(self, path: Path, size_bytes: int) -> bytes:
        return path.read_bytes()

    def _save(self) -> None:
        self._number += 1
        data = b"".join(block_text(block.plain()) for block in self._blocks.values())
        current = f"{self._number} {len(data)} {zlib.crc32(data)}\n".encode()
        files = [(str(self._number), data), ("CURRENT", current)]
        for name, contents in files if self.DATA_FIRST else reversed(files):
            self._replace(self._home / name, contents)
        (self._home / str(self._number - 1)).unlink(missing_ok=True)

    def _replace(self, path: Path, contents: bytes) -> None:
        unfinished = path.with_name("unfinished")
        with unfinished.open("wb") as file:
            file.write(contents)
            file.flush()
            if self.FSYNC:
                self._fsync(file.fileno())
        unfinished.replace(path)
        self._fsync_directory(self._home)

    def _fsync(self, descriptor: int) -> None:
        for left in reversed(range(self.FSYNC_TRIES)):
            try:
                os.fsync(descriptor)
                break
            except OSError:
                if not left:
                    raise

    def _fsync_directory(self, path: Path) -> None:
        if self.FSYNC_DIRECTORY:
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


class NoFsync(Good):
    """Files are not synced, only their names."""

    FSYNC = False


class NoDirectoryFsync(Good):
    """Files are synced, but not their names."""

    FSYNC_DIRECTORY = False


class IgnoresLostNames(Good):
    """Believes a directory's fsync whatever it says."""

    def _fsync_directory(self, path: Path) -> None:
        with suppress(OSError):
            super()._fsync_directory(path)


class SyncsNothing(NoFsync, NoDirectoryFsync):
    """Neither files nor names."""


class TrustsWhatItFinds(Good):
    """What a process that was killed had not synced yet is taken for durable."""

    FSYNC_AT_OPENING = False


class NoChecksum(Good):
    """Whatever parses is believed."""

    CHECKSUM = False


class CommitFirst(Good):
    """What says that data counts is durable before the data."""

    DATA_FIRST = False


class SyncsAgain(Good):
    """Tries an fsync that failed again, and believes the second one."""

    FSYNC_TRIES = 2


class Maps(Good):
    """Writes through a mapping of a file that has no blocks yet."""

    def _replace(self, path: Path, contents: bytes) -> None:
        unfinished = path.with_name("unfinished")
        with unfinished.open("w+b") as file:
            file.truncate(len(contents))
            if contents:
                with mmap.mmap(file.fileno(), len(contents)) as mapped:
                    mapped[:] = contents
            self._fsync(file.fileno())
        unfinished.replace(path)
        self._fsync_directory(self._home)


class NoLock(Good):
    """Each opener has a lock of its own."""

    LOCK = False
