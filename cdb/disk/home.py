"""One writer a database; and the directory of one: whose it is, and what is in it.

my.cdb/
├── FORMAT    "cdb SCHEMA VERSION", written before anything else; and " NAME=VALUE" behind that for
│             what the database has beyond what all of its kind have
├── LOCK      held with flock by the one writer
└── …         the schema's own files
"""

import fcntl
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple
from weakref import WeakSet, finalize

from cdb.disk.damage import Damage
from cdb.disk.files import fsync_dir, replace_file
from cdb.disk.paths import check_held, own, read_own
from cdb.errors import (
    DESCRIPTORS,
    VERIFY,
    CorruptDatabaseError,
    DatabaseLockedError,
    DatabaseNotFoundError,
    StorageError,
    WrongDatabaseError,
    know_descriptor,
    known_path,
    storage_errors,
    wrong_version,
)

FORMAT_FILE = "FORMAT"
LOCK_FILE = "LOCK"
_format_line = re.compile(
    r"cdb ([a-z0-9_]+(?:@[a-z0-9_]+(?:,[a-z0-9_]+=[a-z0-9_]+)*)?) (0|[1-9][0-9]{0,8})"
    r"(?: ([a-z_]{1,99}=[a-z_]{1,99}))?\n"
).fullmatch


class Format(NamedTuple):
    """What FORMAT says. extra: what this database has beyond others, as NAME=VALUE; or ""."""

    schema: str
    version: int
    extra: str = ""


class Lock:
    """An exclusive lock on a file of its own, held until release() or the end of the process.

    flock, not fcntl: that one is granted twice within a process, and lost when any descriptor of
    the file is closed. The file stays, because removing it would race with the next writer.
    A child made by fork() lets go of it: else it would keep the lock when its parent is gone.
    Raises DatabaseLockedError, naming the database, when another holder is alive.
    """

    def __init__(self, lock_path: Path, database_path: Path) -> None:
        self._paths = Path(known_path(lock_path)), database_path
        # A file, not a number: one that a signal has cut off closes itself, and once.
        with storage_errors(lock_path):
            self._file = open(lock_path, "ab", buffering=0, opener=own)  # noqa: SIM115
        try:
            with _lock_errors(lock_path, database_path):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            self._file.close()
            raise
        _held.add(self)

    def check_in_place(self) -> None:
        """Raise StorageError where the path no longer leads to what is locked: a writer that goes
        by it would leave its files in another database."""
        lock_path, database_path = self._paths
        check_in_place(lock_path, os.fstat(self._file.fileno()), database_path)

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        self._file.close()


def check_in_place(path: Path, status: os.stat_result, database_path: Path) -> None:
    """Raise StorageError unless a path leads to the file of a status, which a writer has open."""
    with storage_errors(path), suppress(FileNotFoundError, NotADirectoryError):
        if os.path.samestat(path.stat(), status):
            return
    problem = "it was moved or removed while it was open for writing"
    raise StorageError(database_path, f"{problem}; open it where it is now")


_held: WeakSet[Lock] = WeakSet()


def _release_all() -> None:
    for lock in list(_held):
        lock.release()


os.register_at_fork(after_in_child=_release_all)


@contextmanager
def writers_kept_out(lock_path: Path, database_path: Path) -> Iterator[None]:
    """Let no writer in meanwhile, without a change on disk: no lock file, no lock.

    Raises DatabaseLockedError when a writer is there already.
    """
    if not os.path.lexists(lock_path):
        yield
        return
    with storage_errors(lock_path):
        descriptor = own(lock_path, os.O_RDONLY)
    try:
        with _lock_errors(lock_path, database_path):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _lock_errors(lock_path: Path, database_path: Path) -> Iterator[None]:
    """Some file systems have no locks; and others may have this one."""
    with storage_errors(lock_path):
        try:
            yield
        except BlockingIOError:
            problem = "another process has this database open for writing; wait until it is done"
            raise DatabaseLockedError(database_path, problem) from None


class _HeldDirectory:
    """A directory that is held open. It is let go when nobody has this object any more, too.

    inside: a path to it that leads there until then, whatever takes its place: a check of the path
    before or after a use can't tell, as two directories may be exchanged, and back. Errors name the
    path instead. Where a system has no /proc it is the path itself.
    Raises DatabaseNotFoundError, WrongDatabaseError or StorageError.
    """

    def __init__(self, path: Path, schema: str) -> None:
        try:
            with storage_errors(path):
                descriptor = os.open(path, _DIRECTORY)
        except StorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise DatabaseNotFoundError(path, "no database is here") from None
            if isinstance(error.__cause__, NotADirectoryError):
                if path.is_symlink():
                    problem = "this is a link; name what it leads to"
                else:
                    problem = f"this is a file, and a database of {schema} is a directory"
                raise WrongDatabaseError(path, problem) from None
            raise
        self.close = finalize(self, os.close, descriptor)
        """Let it go. A second call does nothing."""
        self.close.atexit = False
        know_descriptor(descriptor, path)
        through = Path(f"{DESCRIPTORS}{descriptor}")
        self.inside = through if through.exists() else path


_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Home:
    """A database directory that is held open, checked, created where it is missing, and locked.

    inside: the path by which all that is in it is opened, made and looked for, so that nothing of
    it comes from another directory, or goes there. It is good until close().

    path: as located() gives it. folder: the one directory in it, if there is one. folders: what
    may be a directory in that, see check_directory().
    extras: those that may be there. extra: one of them that is to be there from now on, or "".
    read_only: nothing is created or locked. Raises DatabaseNotFoundError, WrongDatabaseError
    (nothing is changed then), CorruptDatabaseError, DatabaseLockedError or StorageError.
    """

    def __init__(
        self,
        path: Path,
        schema: str,
        version: int,
        *,
        read_only: bool,
        folder: str = "",
        folders: str = "",
        extras: Collection[str] = (),
        extra: str = "",
    ) -> None:
        if not read_only:
            _create(path)
        self.path = path
        self._lock: Lock | None = None
        self._directory = _HeldDirectory(path, schema)
        self.inside = self._directory.inside
        with ExitStack() as undo:
            undo.callback(self.close)
            check = partial(_check_contents, self.inside, schema, version, extras, folder)
            found = check(may_be_empty=not read_only)
            _check_files(self.inside, folder, folders, read_only=read_only)
            if not read_only:
                self._lock = Lock(self.inside / LOCK_FILE, path)
                found = format_at(self.inside)
                if found is None or (extra and found == Format(schema, version)):
                    _write_format(self.inside, Format(schema, version, extra))
                found = check(may_be_empty=False)
                self.check_in_place()
            self.extra = "" if found is None else found.extra
            """The one that is there."""
            undo.pop_all()

    def check_in_place(self) -> None:
        """See Lock."""
        if self._lock is not None:
            self._lock.check_in_place()

    def close(self) -> None:
        """Let the next writer in. A second call does nothing."""
        self._directory.close()
        if self._lock is not None:
            self._lock.release()


def anothers(path: Path, found: str, wanted: str) -> WrongDatabaseError:
    """The error for a database of another schema than the one that is wanted."""
    problem = f"this is a database of {found}; open it with that schema, not with {wanted}"
    return WrongDatabaseError(path, problem)


def schema_at(path: Path) -> tuple[str, int] | None:
    """The (schema, format version) that a directory's FORMAT file names; None without one."""
    found = format_at(path)
    return None if found is None else found[:2]


def format_at(path: Path) -> Format | None:
    """What a directory's FORMAT file says; None without one."""
    format_path = path / FORMAT_FILE
    with storage_errors(format_path):
        line = read_own(format_path)
    if line is None:
        return None
    match = _format_line(line.decode("ascii", "replace"))
    if match is None:
        raise CorruptDatabaseError(format_path, "damaged: it should read 'cdb SCHEMA VERSION'")
    return Format(match[1], int(match[2]), match[3] or "")


def extra_at(path: Path, schema: str) -> str:
    """What FORMAT says that a schema's database has beyond others; "" where there is nothing."""
    with storage_errors(path):
        found = format_at(path) if path.is_dir() else None
    return found.extra if found is not None and found.schema == schema else ""


@contextmanager
def checked_home(
    path: Path,
    schema: str,
    version: int,
    truth: str,
    *,
    folder: str,
    folders: str = "",
    extras: Collection[str] = (),
) -> Iterator[tuple[Path, Sequence[Damage]]]:
    """Keep writers out; gives the path by which to look at all else, and the damage to FORMAT.

    path: as located() gives it; a link is refused. The one that is given leads to this very
    directory until the end, as Home.inside does. truth: the file by which a directory without
    FORMAT is a database still.
    Raises DatabaseLockedError, DatabaseNotFoundError, WrongDatabaseError or StorageError.
    """
    with closing(_HeldDirectory(path, schema)) as directory:
        inside = directory.inside
        with writers_kept_out(inside / LOCK_FILE, path):
            damages = list(_format_damage(inside, schema, version, truth, extras, folder))
            _check_files(inside, folder, folders, read_only=True)
            yield inside, damages


@contextmanager
def repaired_home(
    path: Path,
    schema: str,
    version: int,
    damages: Sequence[Damage],
    *,
    folder: str,
    folders: str = "",
    extras: Collection[str] = (),
    extra_of: Callable[[Path], str] = lambda inside: "",
) -> Iterator[tuple[Path, list[Path]]]:
    """Hold the database's lock, and mend FORMAT; gives the path by which to mend all else, as
    checked_home() does, and what else is damaged, by that path.

    path: as located() gives it. extra_of: tells by other files, which are inside, what FORMAT has
    to say, too. Raises WrongDatabaseError where damage is that of another database.
    """
    names = _names_in(path, damages)
    with ExitStack() as stack:
        inside = stack.enter_context(closing(_HeldDirectory(path, schema))).inside
        _check_files(inside, folder, folders, read_only=False)
        lock = Lock(inside / LOCK_FILE, path)
        stack.callback(lock.release)
        if Path(FORMAT_FILE) in names:
            _mend_format(inside, schema, version, extra_of)
        _check_contents(inside, schema, version, extras, folder, may_be_empty=False)
        lock.check_in_place()
        yield inside, [inside / name for name in names if name != Path(FORMAT_FILE)]


def _names_in(path: Path, damages: Sequence[Damage]) -> list[Path]:
    """What is damaged, by its path in the database."""
    home = path.absolute()
    for damage in damages:
        if not damage.path.absolute().is_relative_to(home):
            problem = f"{damage.path}, which was found damaged, is not of this database"
            raise WrongDatabaseError(path, f"{problem}; verify it again")
    return [damage.path.absolute().relative_to(home) for damage in damages]


def _format_damage(
    path: Path, schema: str, version: int, truth: str, extras: Collection[str], folder: str
) -> Iterator[Damage]:
    try:
        _check_contents(path, schema, version, extras, folder, may_be_empty=False)
    except CorruptDatabaseError as error:
        yield Damage.of(error, truth)
    except WrongDatabaseError as error:
        if (path / FORMAT_FILE).exists():
            raise
        if not (path / truth).exists():
            if not error.advice:  # it is no database at all
                raise
            problem = f"its {FORMAT_FILE} is missing, and so is {truth}, which has its coins"
            raise WrongDatabaseError(path, problem, "load a new database") from None
        yield Damage(path / FORMAT_FILE, "it is missing", truth)


def _mend_format(path: Path, schema: str, version: int, extra_of: Callable[[Path], str]) -> None:
    # Somebody may have mended it, or made another database here, since it was looked at.
    with suppress(CorruptDatabaseError):
        if schema_at(path) is not None:
            return
    _write_format(path, Format(schema, version, extra_of(path)))


def _write_format(path: Path, format: Format) -> None:
    extra = f" {format.extra}" if format.extra else ""
    line = f"cdb {format.schema} {format.version}{extra}\n"
    replace_file(path / FORMAT_FILE, line.encode("ascii"), durable=True)


def _create(path: Path) -> None:
    with storage_errors(path):
        if not path.exists():
            path.mkdir()
    # Also where it is there: who made it may have been killed before this.
    fsync_dir(path.parent)  # fault: new-directory-not-synced


def _check_contents(
    path: Path,
    schema: str,
    version: int,
    extras: Collection[str],
    folder: str,
    *,
    may_be_empty: bool,
) -> Format | None:
    found = format_at(path)
    if found is None:
        if may_be_empty and _is_unused(path):
            return None
        if folder and (path / folder).is_dir() and (path / LOCK_FILE).exists():
            problem = f"its {FORMAT_FILE} is missing, which says whose database this is"
            raise WrongDatabaseError(path, problem, f"{VERIFY} --repair makes it again")
        raise WrongDatabaseError(path, "this directory holds no cdb database; name a new path")
    if found.schema != schema:
        raise anothers(path, found.schema, schema)
    if found.version != version:
        raise wrong_version(path, f"{schema} {found.version}", f"{schema} {version}")
    if found.extra and found.extra not in extras:
        problem = f"it is kept with {found.extra}, which this cdb does not know"
        raise WrongDatabaseError(path, f"{problem}; use the cdb that wrote it, a newer one")
    return found


def _check_files(path: Path, folder: str, folders: str, *, read_only: bool) -> None:
    with storage_errors(path):
        check_held(path, read_only=read_only, folder=folder, folders=folders)


def _is_unused(path: Path) -> bool:
    """Whether a directory without FORMAT holds nothing but what a crash has left that was faster.

    That is a lock, and perhaps an unfinished FORMAT.
    """
    return all(entry.name.startswith((LOCK_FILE, FORMAT_FILE)) for entry in path.iterdir())
