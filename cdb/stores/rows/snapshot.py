"""Reads an SQLite file as it stands, without a byte of change to it or its directory.

``mode=ro`` alone is right while a writer is alive, but where none is, it leaves -shm and -wal files
behind in a directory that it may write to, and fails in one that it may not. ``immutable=1`` alone
overlooks a live -wal. So the way in depends on what stands beside a file in WAL mode:

    -wal and -shm          mode=ro: a writer may be alive, SQLite's locks do their work. (Where a
                           full disk has no room for the -shm, as if there were none.)
    -wal with a commit     no locks, and the WAL's index on the heap: the writer is gone. (Without
                           a commit SQLite would delete the -wal when it closes the file.)
    anything else          immutable=1: the file is all there is

In the last two nothing keeps a writer from coming, so every read finds out whether one came. A file
that is not in WAL mode is opened with mode=ro.
"""

import os
import sqlite3
import struct
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple, Self
from weakref import finalize

from cdb.disk.paths import first_bytes, own
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseNotFoundError,
    StorageError,
    WrongDatabaseError,
    known_path,
    storage_errors,
)
from cdb.stores.rows.sqlite import (
    Connection,
    Tables,
    check_tables,
    check_unmoved,
    open_uri,
    sqlite_errors,
    stored_data,
)

NEW_DATABASE = "use a backup, or load a new database at another path"
"""The advice where a file has lost everything: no check could find more, and no repair mends it."""

_DIRECTORY = os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY)
_WAL_MODE_OFFSET = 18
_WAL_MODE = 2
_WAL_HEADER = struct.Struct(">8I")
_WAL_FRAME_BYTES = 24
_WAL_MAGIC = 0x377F0682  # its last bit tells the byte order of the checksums


def check_not_emptied(path: Path) -> None:
    """Raise CorruptDatabaseError for a file of no bytes, or none, beside a -wal that has commits.

    SQLite writes the file before its -wal, and would remove this one.
    """
    wal = _beside(path, "-wal")
    with storage_errors(path):
        if (path.exists() and path.stat().st_size) or not wal.is_file() or not _has_commit(wal):
            return
    problem = "it was emptied or removed, and its -wal has what was committed last"
    raise CorruptDatabaseError(path, problem, NEW_DATABASE)


class Snapshot:
    """A read transaction on one SQLite file, pinned when it is made.

    tables: those that will be read, for check_tables(). Raises DatabaseNotFoundError where there is
    no file, and CorruptDatabaseError, StorageError or DatabaseLockedError where SQLite can't read
    it.
    """

    def __init__(self, path: Path, tables: Tables) -> None:
        # For errors, which may come when the directory of the path is held no longer.
        self._path = Path(known_path(path))
        with storage_errors(path):
            self._files = _Files(path)
        with ExitStack() as undo:
            undo.callback(self._files.close)
            with storage_errors(path):
                self._state = self._files.state()
                parameters = _parameters(path)
            try:
                self.connection = _begun(path, parameters, tables)
            except StorageError as error:
                if not _lacks_room_for_shm(error):
                    raise
                # So no writer is alive, who would have made it; SQLite has tried to.
                with storage_errors(path):
                    self._state = self._files.state()
                    parameters = _parameters_alone(path)
                self.connection = _begun(path, parameters, tables)
            self._needs_check = parameters != "mode=ro"
            self.connection.also_close = self._files.close
            undo.pop_all()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read in this block; its errors are stored_data's.

        Raises StorageError if a writer has come since the snapshot was made, or if the file was
        removed or replaced: what was read may be mixed then, and what looks like damage need not be
        any. Where its directory was moved, it goes on.
        """
        try:
            with stored_data(self._path):
                yield
        except CorruptDatabaseError:
            self._check_unchanged()
            raise
        self._check_unchanged()

    def close(self) -> None:
        """End the transaction. A second call does nothing."""
        self.connection.close()

    def _check_unchanged(self) -> None:
        if not self._needs_check or not self._files.close.alive:
            return
        with storage_errors(self._path):
            state = self._files.state()
        if state == self._state:
            return
        file, before = state[0], self._state[0]
        if file is None or before is None or file.inode != before.inode:
            problem = "it was removed or replaced while it was read; open it again"
        else:
            problem = "another program began to write to it while it was read; read it again"
        raise StorageError(self._path, problem)

    def __del__(self) -> None:
        # An iteration that is never begun never ends either.
        if hasattr(self, "connection"):
            self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _parameters(path: Path) -> str:
    if not path.is_file():
        if path.exists():
            raise WrongDatabaseError(path, "this is not an SQLite file")
        raise DatabaseNotFoundError(path, "no database is here")
    wal = _beside(path, "-wal")
    if (wal.exists() and _beside(path, "-shm").exists()) or not _in_wal_mode(path):
        return "mode=ro"
    return _parameters_alone(path)


def _parameters_alone(path: Path) -> str:
    """How to read it where no writer is."""
    wal = _beside(path, "-wal")
    return "mode=ro&vfs=unix-none" if wal.exists() and _has_commit(wal) else "mode=ro&immutable=1"


def _begun(path: Path, parameters: str, tables: Tables) -> Connection:
    connection = open_uri(path, parameters)
    try:
        with sqlite_errors(path):
            if "unix-none" in parameters:
                connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("BEGIN")  # fault: snapshot-is-none
            check_tables(connection, path, tables)
            check_unmoved(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _lacks_room_for_shm(error: StorageError) -> bool:
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code == sqlite3.SQLITE_IOERR_SHMSIZE


def _in_wal_mode(path: Path) -> bool:
    return first_bytes(path, _WAL_MODE_OFFSET + 1)[_WAL_MODE_OFFSET:] == bytes([_WAL_MODE])


class _Stamp(NamedTuple):
    """What a writer could not leave as it is of a file."""

    inode: int
    changed_ns: int
    n_bytes: int


class _Files:
    """An SQLite file and those beside it, wherever their directory is moved to."""

    def __init__(self, path: Path) -> None:
        self._names = [each.name for each in (path, _beside(path, "-wal"), _beside(path, "-shm"))]
        try:
            self._directory = os.open(path.parent, _DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            raise DatabaseNotFoundError(path, "no database is here") from None
        self.close = finalize(self, os.close, self._directory)
        """Let the directory go. A second call does nothing."""

    def state(self) -> list[_Stamp | None]:
        """Of the file, its -wal and its -shm; None for one that is not there. Raises OSError."""
        return [self._stamp(name) for name in self._names]

    def _stamp(self, name: str) -> _Stamp | None:
        try:
            status = os.stat(name, dir_fd=self._directory)
        except FileNotFoundError:
            return None
        return _Stamp(status.st_ino, status.st_mtime_ns, status.st_size)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _has_commit(path: Path) -> bool:
    """Whether a -wal file begins with a transaction that SQLite would take for committed.

    By SQLite's documented format. Reads up to the end of that transaction. Raises OSError.
    """
    with open(path, "rb", opener=own) as file:
        header = file.read(_WAL_HEADER.size)
        if len(header) < _WAL_HEADER.size:
            return False
        magic, _, page_bytes, _, *_ = _WAL_HEADER.unpack(header)
        if magic & ~1 != _WAL_MAGIC:
            return False
        order = ">" if magic & 1 else "<"
        sums = _wal_checksum((0, 0), header[:24], order)
        salts = header[16:24]
        if sums != struct.unpack(">2I", header[24:]):
            return False
        frame_bytes = _WAL_FRAME_BYTES + page_bytes
        while len(frame := file.read(frame_bytes)) == frame_bytes:
            sums = _wal_checksum(sums, frame[:8] + frame[_WAL_FRAME_BYTES:], order)
            if frame[8:16] != salts or sums != struct.unpack(">2I", frame[16:24]):
                return False
            if frame[4:8] != bytes(4):  # the size of the database after the commit
                return True
    return False


def _wal_checksum(sums: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    a, b = sums
    words: Iterable[tuple[int, int]] = struct.iter_unpack(f"{order}2I", data)
    for x, y in words:
        a = (a + x + b) & 0xFFFFFFFF
        b = (b + y + a) & 0xFFFFFFFF
    return a, b
