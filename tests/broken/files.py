"""A small store that keeps its promises, and twins that each break one: the faults' own test.

Some end early, where a trial might not look: they fail, or die, for a reason that has nothing to do
with the fault that is put in. A trial that takes any error for a kept promise would pass them.

PATH/LOCK       flock
PATH/N          replay text of all blocks at the N-th flush
PATH/CURRENT    "N BYTES CRC32": which of them counts; replaced as a whole
"""

import ctypes
import mmap
import multiprocessing
import os
import signal
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

from cdb.contract.packed import PackedBlocks
from cdb.disk import sharing
from cdb.disk.home import Lock
from cdb.errors import (
    BlockError,
    BlockOrderError,
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseNotFoundError,
    ReplayError,
    StorageError,
    storage_errors,
)
from cdb.schemas.memory import MemorySchema
from cdb.schemas.null import NullSchema
from cdb.text.replay import block_text, read_blocks
from tests.broken.table import Faults

MAP_BYTES = 1 << 38
RESERVED_BYTES = 1 << 32


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


broken = Faults(__name__, Good)
broken("FSYNC", NoFsync=False)
broken("FSYNC_DIRECTORY", NoDirectoryFsync=False)
broken.add("SyncsNothing", "Neither files nor names.", FSYNC=False, FSYNC_DIRECTORY=False)
# What a process that was killed had not synced yet is taken for durable.
broken("FSYNC_AT_OPENING", TrustsWhatItFinds=False)
# Whatever parses is believed.
broken("CHECKSUM", NoChecksum=False)
# What says that data counts is durable before the data.
broken("DATA_FIRST", CommitFirst=False)
# It tries an fsync that failed again, and believes the second one.
broken("FSYNC_TRIES", SyncsAgain=2)
# Each opener has a lock of its own.
broken("LOCK", NoLock=False)


def _at_damage(act: Callable[[CorruptDatabaseError], Any]) -> dict[str, Any]:
    """It does something else where it should say that there is damage."""

    def load(store: Any, right: Any) -> None:
        try:
            right()
        except CorruptDatabaseError as error:
            act(error)

    return {"_load": load}


def _raise(kind: Callable[..., Exception], *arguments: object) -> None:
    raise kind(*arguments)


def _spin() -> None:
    while True:
        pass


broken(
    _at_damage,
    Careless=lambda error: _raise(IndexError, "out of range"),
    Dies=lambda error: os.abort(),
    Spins=lambda error: _spin(),
    Swells=lambda error: bytearray(1 << 40),
    # It calls damage a failing disk.
    BlamesTheDisk=lambda error: _raise(StorageError, error.path, "it cannot be read"),
    # It takes what is damaged for what is not there.
    SeesNothing=lambda error: _raise(DatabaseNotFoundError, error.path, "it holds nothing"),
)


def _ignore(store: Any, right: Any, path: Path) -> None:
    with suppress(OSError):
        right(path)


def _replace_mapped(store: Any, right: Any, path: Path, contents: bytes) -> None:
    unfinished = path.with_name("unfinished")
    with unfinished.open("w+b") as file:
        file.truncate(len(contents))
        if contents:
            with mmap.mmap(file.fileno(), len(contents)) as mapped:
                mapped[:] = contents
        store._fsync(file.fileno())
    unfinished.replace(path)
    store._fsync_directory(store._home)


def _read_mapped(store: Any, right: Any, path: Path, size_bytes: int) -> bytes:
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


def _reserve(store: Any, right: Any, path: Path) -> None:
    with storage_errors(Path(path)):
        try:
            mmap.mmap(-1, RESERVED_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
        except OSError as error:
            raise StorageError(path, f"no memory: {error}") from error
    right(path)


# It believes a directory's fsync whatever it says.
broken("_fsync_directory", IgnoresLostNames=_ignore)
# It writes through a mapping of a file that has no blocks yet.
broken("_replace", Maps=_replace_mapped)
# It reads through a mapping of 256 GiB, however short the file is, and believes what it reads.
broken.add("MapsFar", "", CHECKSUM=False, _read=_read_mapped)
# It takes 4 GiB when it is opened, though it needs none of it.
broken.add("Reserves", "", CHECKSUM=False, __init__=_reserve)


def _runs_alone() -> bool:
    """Whether this is a process of a trial, which may be watched, or killed."""
    return multiprocessing.parent_process() is not None


def _hide(store: Any, right: Any, path: Path) -> None:
    right(path)
    sharing._open.discard(store)


def _fail_the_second_time(store: Any, right: Any) -> None:
    first, process = store._home.parents[1] / "first", str(os.getpid())
    if _runs_alone() and not first.exists():
        first.write_text(process)
        for _ in range(100):
            store._replace(store._home / "unused", b"unused")
    if _runs_alone() and first.read_text() != process:
        raise StorageError(store._home, "not again")
    right()


def _want_much(store: Any, right: Any) -> None:
    with (store._home / "reserve").open("wb") as file:
        file.truncate(1 << 30)
    right()


broken(
    "__init__",
    # It can't be opened in a process of a trial.
    FailsWatched=lambda _, right, path: (
        _raise(StorageError, path, "it cannot be opened") if _runs_alone() else right(path)
    ),
    # It doesn't notice that it is a copy in a child.
    LetsChildrenWrite=_hide,
)
broken(
    "_save",
    # It dies in a process of a trial.
    DiesWatched=lambda _, right: os.abort() if _runs_alone() else right(),
    # It makes many calls in the first script of a trial, and fails soon in all others.
    FailsTheSecondTime=_fail_the_second_time,
    # It makes a file far longer than it needs.
    WantsMuch=_want_much,
)
broken(
    "flush",
    # It ends by a signal that nobody sent, when it runs alone.
    DiesBeforeItIsKilled=lambda _, right: (
        signal.raise_signal(signal.SIGSEGV) if _runs_alone() else right()
    ),
)
broken.add(
    "FlushesLater",
    "It promises what only close() does.",
    flush=lambda *_: None,
    close=lambda store, right: (store.guard.closed or Good.flush(store), right()),
)
broken(
    "accept_block",
    # It keeps another timestamp in a process of a trial.
    AltersWatched=lambda _, right, block: right(
        replace(block, timestamp=block.timestamp // 2) if _runs_alone() else block
    ),
    # In a child it refuses the block, and not the child.
    ChecksBlocksFirst=lambda store, right, block: (
        _raise(BlockOrderError, "it is not newer", block.index)
        if store.guard.closed
        else right(block)
    ),
)
# It answers each lookup as if no coin had ever been.
broken("coin_infos_for_coin_names", FindsNothing=lambda *_: [])


@broken.keep
class ForgetsThePack(Good):
    """When a block is refused, those before it in its pack are gone too."""

    def accept_packed(self, packed: PackedBlocks) -> None:
        """See cdb.contents.loader.accept."""
        newest = self.last_block_index
        try:
            for place in range(len(packed)):
                self.accept_block(packed.block(place))
        except BlockError:
            self.rewind_to_block_index(-1 if newest is None else newest)
            raise


@broken.keep
class ShowsHalfABlock(Good):
    """Who opens it only for reading misses a coin of the newest block."""

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False) -> None:
        self.LOCK = not read_only
        super().__init__(path)
        if read_only:
            for coin in self._blocks.peekitem()[1].confirms[:1]:
                del self._coins[coin.name()]


@broken.keep
class SeesDamageEverywhere(Good):
    """Whoever only reads is told of damage."""

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False) -> None:
        super().__init__(path)
        if read_only:
            self.close()
            raise CorruptDatabaseError(path, "it is opened only for reading")


@broken.keep
class SendsReadersAway(Good):
    """Lets nobody read beside the writer."""

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False) -> None:
        if read_only:
            raise DatabaseClosedError(path, "it was rewound; open it again")
        super().__init__(path)


@broken.keep
class Leaks(NullSchema):
    """Keeps in memory what it never reads."""

    def accept_packed(self, packed: PackedBlocks) -> None:
        """See cdb.contents.loader.accept."""
        super().accept_packed(packed)
        self._kept = [*getattr(self, "_kept", []), bytes(packed.confirms)]
