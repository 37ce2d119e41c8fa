"""RocksDB as a name index, one native call a batch.

The native side is native/name_index/, over RocksDB as an ordered engine: see the contracts of
cdb_name_index.h there. It is optional: importing this module always works, and missing() says why
the engine does not.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from weakref import finalize

from cdb.contract.durability import Durability
from cdb.disk.files import make_dir
from cdb.disk.sharing import file_marks, read_unchanged
from cdb.engines import rocksdb
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseError,
    DatabaseLockedError,
)
from cdb.stores.rows.index import EMPTY, Watermark

CACHE_BYTES = 64 << 20
ERASE_BATCH = 50_000  # names: a file of 2 MB

_engine = rocksdb.ENGINE.native("cdb_name_index_")
load = _engine.load
missing = _engine.missing
version = _engine.version


class RocksIndex:
    """A NameIndex in a directory of RocksDB's, which is created unless read_only.

    All that is written comes as files, durable at once, whatever the durability: that only decides
    what creating waits for.

    One thread writes, rewinds and closes. Others may find meanwhile, but not while it is closed.
    After an error in a write or a rewind, everything but close() raises DatabaseClosedError.

    Raises MissingEngineError, DatabaseNotFoundError (read_only), DatabaseLockedError,
    WrongDatabaseError, CorruptDatabaseError or StorageError.
    """

    def __init__(self, path: Path, *, durability: Durability, read_only: bool = False) -> None:
        self.path = path
        self._native = _engine.load()
        self._failed = False
        if not read_only:
            make_dir(path, durable=durability is Durability.POWER)
        self._handle: Any = (
            read_unchanged(
                partial(self._open, read_only=True),
                partial(file_marks, path),
                CorruptDatabaseError,
                DatabaseLockedError,
            )
            if read_only
            else self._open(read_only=False)
        )
        self._drop = finalize(self, _end_dropped, path, self._handle)
        self._drop.atexit = False
        self._covered = self._read_covered()

    @property
    def covered(self) -> Watermark:
        """The rows that the index holds."""
        return self._covered

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """The row id of each name, None where it is absent, in the order asked."""
        ffi = self._native.ffi
        rows = ffi.new("uint64_t[]", len(names))
        self._call("find", _joined(names), len(names), rows)
        return [row or None for row in ffi.unpack(rows, len(names))]

    def write(self, names: Sequence[bytes], covered: Watermark) -> None:
        """Add the names of the rows up to covered.rows, in one atomic step with the watermark."""
        joined = _joined(names)
        with self._writing():
            self._call("put", joined, len(names), self._packed(covered))
            self._covered = covered

    def rewind(self, covered: Watermark, dropped: Iterator[bytes]) -> None:
        """Forget every row above covered.rows, whose names dropped yields.

        The watermark goes first, so a crash in between leaves names that are above it: they are
        out of sight, and the next opening erases them, by reading the whole index.
        """
        with self._writing():
            self._call("begin_rewind", self._packed(covered))
            self._covered = covered
            while names := list(islice(dropped, ERASE_BATCH)):
                self._call("erase", _joined(names), len(names))
            self._call("end_rewind")

    def settle(self) -> None:
        """See NameIndex. It may need as much free space as the index takes."""
        with self._writing():
            self._call("settle")

    def check(self) -> None:
        """See NameIndex. What no name's look-up reads is held against its checksum, too."""
        self._call("verify")

    def close(self) -> None:
        """Make everything durable and release files.

        Raises what a flush can, unless an earlier write has failed; all is released even so.
        """
        self._drop.detach()
        handle, self._handle = self._handle, None
        if handle is None:
            return
        try:
            self._end(handle)
        except DatabaseError:
            if not self._failed:
                raise

    def _open(self, *, read_only: bool) -> Any:
        options = self._native.ffi.new("cdb_name_index_options *")
        options.read_only = read_only
        options.cache_bytes = CACHE_BYTES
        arguments = os.fsencode(self.path), options
        return _engine.open(self.path, "open", *arguments, kind="cdb_name_index", close=self._end)

    def _end(self, handle: Any) -> None:
        _engine.call(self.path, "close", handle)

    def _read_covered(self) -> Watermark:
        watermark = self._native.ffi.new("cdb_watermark *")
        self._native.lib.cdb_name_index_covered(self._handle, watermark)
        if watermark.rows == 0:
            return EMPTY
        return Watermark(watermark.rows, bytes(watermark.tie))

    def _packed(self, covered: Watermark) -> Any:
        return self._native.ffi.new("cdb_watermark *", (covered.rows, covered.tie))

    def _call(self, function: str, *arguments: Any) -> None:
        if self._handle is None:
            raise DatabaseClosedError(self.path, "the index is closed; open it again")
        if self._failed:
            raise DatabaseClosedError(self.path, "an earlier write failed; open the index again")
        _engine.call(self.path, function, self._handle, *arguments)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._failed = True
            raise


def _end_dropped(path: Path, handle: Any) -> None:
    """Of an index that nobody has any more, and nobody has closed: else its lock would stay."""
    with suppress(DatabaseError):
        _engine.call(path, "close", handle)


def _joined(names: Sequence[bytes]) -> bytes:
    joined = b"".join(names)
    if len(joined) != 32 * len(names):
        raise ValueError("a name is not 32 bytes long")
    return joined
