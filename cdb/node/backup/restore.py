"""Puts a backup of a node's database in place.

    FILE                  the node's file        FILE.cdb/        its coins
    FILE.restore/         copies of both while they are made; READY is in it once they are durable

Nothing that is there is touched: names are only given where nothing has them. First the coins come,
and then the file, so no node starts on half of it. With FILE.restore/READY there the same command
finishes what was begun, wherever it was killed, and needs the backup no more.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path

from cdb.contents.state import verify
from cdb.contract.printable import shell_word
from cdb.contract.progress import Progress, StepBar
from cdb.disk.files import fsync_dir, fsync_file, replace_file, temporary
from cdb.disk.home import Lock
from cdb.disk.paths import located, own, read_own
from cdb.disk.rename import rename_new
from cdb.disk.room import SPARE_BYTES, check_room
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseNotFoundError,
    InvariantError,
    StorageError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.node.backup import work_directory
from cdb.node.backup.directory import (
    BACKUP_FILE,
    Contents,
    contents_of,
    contents_of_line,
    file_in,
    line_of,
    log_in,
    size_bytes,
)
from cdb.node.log import fitting_effect, is_there, log_path_of
from cdb.node.node_database import TABLES, check_in_log, operations_of
from cdb.node.service import service_stopped
from cdb.schemas import coin_log
from cdb.stores.node_table.table import LOG_SUFFIX
from cdb.stores.rows.snapshot import Snapshot
from cdb.stores.rows.sqlite import JOURNAL_SUFFIXES, SIDE_SUFFIXES, integrity_problems

READY = "READY"
WORK_SUFFIX = ".restore"
_CHUNK_BYTES = 4 << 20
_ANOTHER = "use another backup"
_IN_THE_WAY = "it is there already; stop the node, and move it away"


def restore(directory: str | PathLike[str], file: str | PathLike[str], bar: StepBar) -> Contents:
    """Verify a backup, and make it a node's database.

    Raises WrongDatabaseError where something is there already, CorruptDatabaseError for a backup
    that is damaged, DatabaseLockedError beside another restore or a node, and StorageError.
    """
    place = located(file, read_only=False)
    with service_stopped(file):
        return _Restore(directory, place, bar).run()


class _Restore:
    def __init__(self, source: str | PathLike[str], file: Path, bar: StepBar) -> None:
        self._source, self._file, self._bar = Path(os.path.realpath(source)), file, bar
        self._given = source
        self._log = log_path_of(file)
        self._work = _beside(file, WORK_SUFFIX)
        self._ready = self._work / READY

    def run(self) -> Contents:
        contents = self._contents()
        with ExitStack() as held:
            lock = self._take_work_directory()
            held.callback(lock.release)
            if not self._is_ready(contents, lock):
                try:
                    self._check_way("", *SIDE_SUFFIXES, LOG_SUFFIX)
                    check_backup(self._source, self._bar)
                    self._copy(contents)
                except BaseException:
                    with suppress(StorageError):
                        self._remove_work_directory(lock)
                    raise
            lock.check_in_place()
            self._put_in_place()
            self._remove_work_directory(lock)
        return contents

    def _contents(self) -> Contents:
        """Of the backup; where that is gone, and its copies were made, as READY tells it."""
        try:
            return contents_of(located(self._given, read_only=True, what="backup"))
        except DatabaseNotFoundError:
            with storage_errors(self._work):
                mark = read_own(self._ready)
            if mark is None or not mark.startswith(os.fsencode(self._source) + b"\n"):
                raise
            return contents_of_line(mark.splitlines()[-1], self._ready)

    def _take_work_directory(self) -> Lock:
        paths = (self._ready, temporary(self._ready), file_in(self._work), log_in(self._work))
        return work_directory.take(self._work, {path.name for path in paths}, "restore")

    def _is_ready(self, contents: Contents, lock: Lock) -> bool:
        """Whether only names have to change. Else the directory is empty from here on."""
        with storage_errors(self._work):
            mark = read_own(self._ready)
        if mark is None:
            work_directory.empty(self._work, lock)
        elif mark != self._mark(contents):
            problem = "a restore was killed here, and what it was to put in place is another now"
            advice = f"remove {shell_word(self._work)}, and restore again"
            raise WrongDatabaseError(self._work, problem, advice)
        return mark is not None

    def _mark(self, contents: Contents) -> bytes:
        """Of a backup: where it is, and what it says of itself; and which the copies of it are,
        wherever they are by now."""
        pairs = ((file_in(self._work), self._file), (log_in(self._work), self._log))
        with storage_errors(self._work):
            copies = " ".join(_identity(copy) or _identity(place) for copy, place in pairs)
        return b"\n".join((os.fsencode(self._source), copies.encode(), line_of(contents)))

    def _check_way(self, *suffixes: str) -> None:
        """Raise WrongDatabaseError where something has the file's name with one of these."""
        for path in (_beside(self._file, suffix) for suffix in suffixes):
            if os.path.lexists(path):
                raise WrongDatabaseError(path, _IN_THE_WAY)

    def _copy(self, contents: Contents) -> None:
        file, log = file_in(self._source), log_in(self._source)
        total_bytes = size_bytes(file) + size_bytes(log)
        check_room(self._work, "to restore this", total_bytes + SPARE_BYTES)
        with self._bar("copy", total_bytes, "B") as progress:
            _copy_file(file, file_in(self._work), progress)
            _copy_directory(log, log_in(self._work), progress)
        fsync_dir(self._work)
        replace_file(self._ready, self._mark(contents), durable=True)
        fsync_dir(self._work.parent)

    def _put_in_place(self) -> None:
        """Give both their names, as far as that is not done, and where nothing has them."""
        new_file, new_log = file_in(self._work), log_in(self._work)
        if new_log.exists():
            self._check_way("", *SIDE_SUFFIXES, LOG_SUFFIX)
            rename_new(new_log, self._log)
        if new_file.exists():
            # SQLite would take a journal of somebody else's for this file's.
            self._check_way("", *SIDE_SUFFIXES)
            rename_new(new_file, self._file)

    def _remove_work_directory(self, lock: Lock) -> None:
        """READY goes first: without it nothing here counts."""
        lock.check_in_place()
        with storage_errors(self._work):
            self._ready.unlink(missing_ok=True)
        fsync_dir(self._work)
        work_directory.remove(self._work, lock)
        fsync_dir(self._work.parent)


def check_backup(directory: Path, bar: StepBar) -> None:
    """Check a backup as `cdb verify` checks databases, and that all of it fits together.

    Raises CorruptDatabaseError for the first damage.
    """
    file, log_path = file_in(directory), log_in(directory)
    for path in (_beside(file, suffix) for suffix in JOURNAL_SUFFIXES):
        if path.exists():
            raise WrongDatabaseError(path, "something has written to the backup", _ANOTHER)
    with bar("check the coins' files", None, " coins") as progress:
        for damage in coin_log.check(log_path, progress):
            raise CorruptDatabaseError(damage.path, damage.problem, _ANOTHER)
    with Snapshot(file, TABLES) as snapshot, snapshot.reading():
        check_in_log(snapshot.connection, file)
        with bar("check the file", None, "B"):
            for problem in integrity_problems(snapshot.connection):
                raise CorruptDatabaseError(file, problem, _ANOTHER)
        rows = operations_of(snapshot.connection, file)
    with coin_log.indexed(log_path, read_only=True) as log:
        if not is_there(log, fitting_effect(log, log_path, file, rows)):
            problem = "its table cdb_ops says other than the coins, and a backup has all of it"
            raise CorruptDatabaseError(file, problem, _ANOTHER)
        _check_contents(contents_of(directory), log, directory)
        with bar("check each coin", None, " coins") as progress:
            try:
                verify(log, progress)
            except InvariantError as error:
                raise CorruptDatabaseError(log_path, str(error), _ANOTHER) from error


def _check_contents(contents: Contents, log: coin_log.CoinLogSchema, directory: Path) -> None:
    """Hold what a backup says of itself against what is there."""
    newest = log.last_block_index
    height = -1 if newest is None else newest
    problem = ""
    if contents.height != height:
        problem = f"it says height {contents.height}, and the coins go to {height}"
    for path, said in (
        (file_in(directory), contents.file_bytes),
        (log_in(directory), contents.log_bytes),
    ):
        if (found := size_bytes(path)) != said:
            problem = problem or f"it says {said:,} bytes of {path.name}, and {found:,} are there"
    if problem:
        raise CorruptDatabaseError(directory / BACKUP_FILE, problem, _ANOTHER)


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


def _identity(path: Path) -> str:
    """Which file or directory this is, also after a start of the system, which may number devices
    anew; empty where none is there."""
    return str(path.lstat().st_ino) if os.path.lexists(path) else ""


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(file.name + suffix)
