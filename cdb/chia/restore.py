"""Puts a backup of a node's database in place.

    FILE                  the node's file        FILE.cdb/        its coins
    FILE.restore/         copies of both while they are made; READY is in it once they are durable
    FILE.replaced/        what was there before, if it may be moved aside

Only when all is copied do names change: what is there goes aside, then the coins come, and the file
comes last. Until then FILE is missing, or is what it was; with FILE.restore/READY there the same
command finishes what was begun, wherever it was killed.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cdb.chia.backup import Bar, check_room
from cdb.chia.backup_directory import Contents, contents_of, file_in, log_in, size_bytes
from cdb.chia.log import fitting_effect, log_path_of
from cdb.chia.node_database import TABLES, check_in_log, operations_of
from cdb.damage import Progress
from cdb.disk.files import fsync_dir, fsync_file, make_dir, replace_file
from cdb.disk.home import LOCK_FILE, Lock
from cdb.disk.paths import located, own
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseLockedError,
    InvariantError,
    StorageError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.rows.snapshot import Snapshot
from cdb.rows.sqlite import integrity_problems, open_uri, sqlite_errors
from cdb.schemas import coin_log
from cdb.state import verify

READY = "READY"
WORK_SUFFIX = ".restore"
REPLACED_SUFFIX = ".replaced"
_SIDE_SUFFIXES = ("-journal", "-wal", "-shm")
_CHUNK_BYTES = 4 << 20
_ANOTHER = "use another backup"


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore has put in place. replaced: where what was there is now; None without any."""

    contents: Contents
    replaced: Path | None


def restore(
    directory: str | PathLike[str], file: str | PathLike[str], bar: Bar, *, force: bool
) -> Restored:
    """Verify a backup, and make it a node's database.

    force: move aside what is there; else that is a WrongDatabaseError. Raises DatabaseLockedError
    where a node has it open, CorruptDatabaseError for a backup that is damaged, and StorageError.
    """
    source = located(directory, read_only=True)
    return _Restore(source, located(file, read_only=False), bar, force).run()


class _Restore:
    def __init__(self, source: Path, file: Path, bar: Bar, force: bool) -> None:
        self._source, self._file, self._bar, self._force = source, file, bar, force
        self._log = log_path_of(file)
        self._work = _beside(file, WORK_SUFFIX)
        self._replaced = _beside(file, REPLACED_SUFFIX)

    def run(self) -> Restored:
        contents = contents_of(self._source)
        self._make_work_directory()
        with ExitStack() as held:
            held.callback(Lock(self._work / LOCK_FILE, self._work).release)
            is_ready = self._is_ready()
            self._check_closed(held)
            if not is_ready:
                try:
                    self._check_way()
                    check_backup(self._source, self._bar)
                    self._copy()
                except BaseException:
                    with suppress(StorageError):
                        self._remove_work_directory()
                    raise
            replaced = self._put_in_place()
            self._remove_work_directory()
        return Restored(contents, replaced)

    def _make_work_directory(self) -> None:
        """Make it, or take the one that a restore which was killed has left."""
        work = self._work
        names = (LOCK_FILE, READY, file_in(work).name)
        with storage_errors(work):
            if os.path.lexists(work) and (
                work.is_symlink()
                or not work.is_dir()
                or not all(each.name.startswith(names) for each in work.iterdir())
            ):
                raise WrongDatabaseError(work, "restore needs this name; move away what is here")
            work.mkdir(exist_ok=True)

    def _is_ready(self) -> bool:
        """Whether only names have to change. Else the directory is empty from here on."""
        ready = self._work / READY
        with storage_errors(self._work):
            if ready.exists():
                of = ready.read_text("utf-8", "surrogateescape")
                if of != str(self._source):
                    problem = f"a restore of {of} was killed here; finish that first"
                    raise WrongDatabaseError(self._work, problem)
                return True
            for each in self._work.iterdir():
                if each.is_dir():
                    shutil.rmtree(each)
                elif each.name != LOCK_FILE:
                    each.unlink()
        return False

    def _check_closed(self, held: ExitStack) -> None:
        """Raise DatabaseLockedError where a node has open what is there."""
        if self._log.is_dir():
            held.callback(Lock(self._log / LOCK_FILE, self._log).release)
        _check_nobody_has_open(self._file)

    def _check_way(self) -> None:
        """Raise WrongDatabaseError unless nothing is there, or it may be moved aside."""
        there = next(filter(os.path.lexists, self._places()), None)
        if there is not None and not self._force:
            problem = f"it is there already; --force moves it to {self._replaced}"
            raise WrongDatabaseError(there, problem)
        if self._force and os.path.lexists(self._replaced):
            problem = "what was replaced before is still here; move it away"
            raise WrongDatabaseError(self._replaced, problem)

    def _places(self) -> Iterator[Path]:
        """What there may be, in the order in which it goes aside."""
        yield self._file
        yield from (_beside(self._file, suffix) for suffix in _SIDE_SUFFIXES)
        yield self._log

    def _copy(self) -> None:
        file, log = file_in(self._source), log_in(self._source)
        total_bytes = size_bytes(file) + size_bytes(log)
        check_room(self._work, total_bytes)
        with self._bar("copy", total_bytes, "B") as progress:
            _copy_file(file, file_in(self._work), progress)
            _copy_directory(log, log_in(self._work), progress)
        fsync_dir(self._work)
        source = os.fsencode(self._source)
        replace_file(self._work / READY, source, durable=True)
        fsync_dir(self._work.parent)

    def _put_in_place(self) -> Path | None:
        """Change names, as far as that is not done; where what was there is now."""
        new_file, new_log = file_in(self._work), log_in(self._work)
        if new_file.exists():
            old = self._places() if new_log.exists() else list(self._places())[:-1]
            self._move_aside([path for path in old if os.path.lexists(path)])
        if new_log.exists():
            _rename(new_log, self._log)
        if new_file.exists():
            _rename(new_file, self._file)
        return self._replaced if self._force and self._replaced.is_dir() else None

    def _move_aside(self, paths: list[Path]) -> None:
        if paths:
            make_dir(self._replaced, durable=True)
        for path in paths:
            _rename(path, self._replaced / path.name)

    def _remove_work_directory(self) -> None:
        """READY goes first: without it nothing here counts."""
        with storage_errors(self._work):
            for path in (self._work / READY, self._work / LOCK_FILE, file_in(self._work)):
                path.unlink(missing_ok=True)
                fsync_dir(self._work)
            shutil.rmtree(log_in(self._work), ignore_errors=True)
            self._work.rmdir()
        fsync_dir(self._work.parent)


def check_backup(directory: Path, bar: Bar) -> None:
    """Check a backup as `cdb verify` checks databases, and that its file and its coins fit.

    Raises CorruptDatabaseError for the first damage.
    """
    file, log_path = file_in(directory), log_in(directory)
    with bar("check the coins' files", None, " coins") as progress:
        for damage in coin_log.check(log_path, progress):
            raise CorruptDatabaseError(damage.path, damage.problem, _ANOTHER)
    with Snapshot(file, TABLES) as snapshot, snapshot.reading():
        check_in_log(snapshot.connection, file)
        with bar("check the file", None, "B"):
            for problem in integrity_problems(snapshot.connection):
                raise CorruptDatabaseError(file, problem, _ANOTHER)
        rows = operations_of(snapshot.connection, file)
    with coin_log.INDEXED(log_path, read_only=True) as log:
        fitting_effect(log, log_path, file, rows)
        with bar("check each coin", None, " coins") as progress:
            try:
                verify(log, progress)
            except InvariantError as error:
                raise CorruptDatabaseError(log_path, str(error), _ANOTHER) from error


def _check_nobody_has_open(file: Path) -> None:
    """Raise DatabaseLockedError where any program has an SQLite file open.

    What is damaged may be replaced, so other errors don't count.
    """
    if not file.is_file():
        return
    with (
        suppress(CorruptDatabaseError, StorageError),
        sqlite_errors(file),
        closing(open_uri(file, "mode=rw")) as connection,
    ):
        try:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            problem = "a program has this database open; stop the node"
            raise DatabaseLockedError(file, problem) from None


def _copy_directory(source: Path, target: Path, progress: Progress) -> None:
    """Copy a directory of files, and of directories, durably."""
    with storage_errors(target):
        target.mkdir()
    with storage_errors(source):
        inner = sorted(source.iterdir())
    for path in inner:
        copy = _copy_directory if path.is_dir() and not path.is_symlink() else _copy_file
        copy(path, target / path.name, progress)
    fsync_dir(target)


def _copy_file(source: Path, target: Path, progress: Progress) -> None:
    with storage_errors(target), open(target, "xb", opener=own) as new:
        for chunk in _chunks(source):
            new.write(chunk)
            progress(len(chunk))
    fsync_file(target)


def _chunks(path: Path) -> Iterator[bytes]:
    with storage_errors(path), open(path, "rb", opener=own) as file:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk


def _rename(old: Path, new: Path) -> None:
    """Rename durably."""
    with storage_errors(old):
        old.rename(new)
    fsync_dir(new.parent)
    if old.parent != new.parent:
        fsync_dir(old.parent)


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)
