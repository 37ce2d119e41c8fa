"""Where a database is, and what its own files are: no links, and to a writer nobody else's.

The path that a user names is resolved once, when it is opened. Links may lead to a database. What
lies beside it lies beside the file that they lead to: so all who come by whatever path find the
same lock and the same -wal, and a later chdir changes nothing.

A link inside a database leads to what no lock guards, what no copy takes along, and what nobody
meant to be written. Another user's file is changed by that user's programs, which ask nobody here.
SQLite and RocksDB open their files themselves, so those are looked at before; ours are opened with
O_NOFOLLOW, too. What does so raises CorruptDatabaseError where something else is than belongs
there, WrongDatabaseError where a writer meets what is another user's, and OSError.
"""

import errno
import os
import pwd
import re
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from cdb.errors import (
    CorruptDatabaseError,
    DatabaseNotFoundError,
    WrongDatabaseError,
    storage_error,
)

TEMPORARY_SUFFIX = ".tmp"
_STREAMS = 3
_MODE = 0o644
_DESCRIPTORS = Path("/dev/fd")
_MOST_BYTES = 16 << 20


def located(path: str | PathLike[str], *, read_only: bool, what: str = "database") -> Path:
    """The absolute path, without links; of what is still to be made, where it is to be made.

    what: which thing is looked for, in one word, for the error.

    Raises DatabaseNotFoundError where nothing is, or for a writer no directory to hold it,
    WrongDatabaseError for the root directory, and StorageError where the system can't tell, as for
    links in a circle. All name the path as it was given.

    Every opening begins here, so from here on no file of a database can take the number of a
    standard stream that is closed.
    """
    if not os.fspath(path):
        raise DatabaseNotFoundError("''", "the path is empty; name one")
    try:
        keep_standard_descriptors()
        real = _real(Path(path), what, read_only=read_only)
    except OSError as error:
        raise storage_error(Path(path), error) from error
    if not real.name:
        raise WrongDatabaseError(path, "this is the root directory; name a new path in it")
    return real


def _real(path: Path, what: str, *, read_only: bool) -> Path:
    try:
        return Path(os.path.realpath(path, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        real = Path(os.path.realpath(path))
    # The parent as it was given, too: what is not there can't be gone back from with "..".
    if not read_only and path.parent.is_dir() and real.parent.is_dir():
        return real
    is_link = real != path.absolute()
    if read_only:
        problem = f"no {what} is {f'where it leads to, {real}' if is_link else 'here'}"
    elif is_link:
        problem = f"this link leads to {real}, and {real.parent} is no directory; create it first"
    else:
        problem = f"{real.parent} is no directory; create it first"
    # As in --db=~/my.cdb.
    advice = "; ~ is home only to a shell, and only as a word's first character"
    at_home = advice if path.parts[:1] == ("~",) else ""
    raise DatabaseNotFoundError(path, f"{problem}{at_home}")


def keep_standard_descriptors() -> None:
    """Give descriptors 0, 1 and 2 to /dev/null, which takes nothing, where streams are closed.

    Else a database's file would get the number, and what anybody prints would be written into it.
    """
    for descriptor in range(_STREAMS):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)  # the lowest that is free


def own(path: str | Path, flags: int) -> int:
    """Open a database's own file: an opener, as open() takes one."""
    # Looked at first: to open a pipe is to wait for its other end, and O_TRUNC asks for no owner.
    check_file(Path(path), read_only=flags & os.O_ACCMODE == os.O_RDONLY)
    if flags & os.O_TRUNC and os.path.lexists(path):
        # What is there may have another name, under which nobody asked for a change.
        Path(path).unlink()
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE)


def first_bytes(path: Path, count: int) -> bytes:
    """The first bytes of a database's own file.

    SQLite's locks are fcntl's: the end of any descriptor of a file ends all that the process has on
    it. Another program would then take itself for the last one that has the database open, and
    remove its -wal. So a file that this process has open is read by the descriptor that is there.
    Raises as own() does.
    """
    wanted = path.lstat()
    for descriptor in _descriptors_of(wanted):
        with suppress(OSError):  # it is closed by now, or only written to
            found = os.pread(descriptor, count, 0)
            if os.path.samestat(os.fstat(descriptor), wanted):
                return found
    with open(path, "rb", opener=own) as file:
        return file.read(count)


def fsync_open_file(path: Path) -> None:
    """Return once the contents of a file are on the disk that this process has open.

    By a descriptor that is there, see first_bytes(). Raises OSError.
    """
    descriptor = next(_descriptors_of(path.lstat()), None)
    if descriptor is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    os.fsync(descriptor)


def _descriptors_of(wanted: os.stat_result) -> Iterator[int]:
    """Those of this process that lead to a file."""
    for descriptor in [int(entry.name) for entry in _DESCRIPTORS.iterdir()]:
        with suppress(OSError):
            if os.path.samestat(os.fstat(descriptor), wanted):
                yield descriptor


def read_own(path: Path) -> bytes | None:
    """All of a database's own small file; None where there is none.

    Raises CorruptDatabaseError for one that is longer than any can be, which may be a hole.
    """
    # A database that is one file has none inside it.
    with suppress(FileNotFoundError, NotADirectoryError), open(path, "rb", opener=own) as file:
        data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise CorruptDatabaseError(path, "it is longer than such a file can be")
        return data
    return None


def write_own(path: Path, data: bytes) -> None:
    """Make this all of a database's own file."""
    with open(path, "wb", opener=own) as file:
        file.write(data)


def check_file(path: Path, *, read_only: bool) -> None:
    """Check a file, if it is there."""
    with suppress(FileNotFoundError, NotADirectoryError):
        status = path.lstat()
        if not S_ISREG(status.st_mode):
            raise _strange(path, status, "file")
        if not read_only:
            _check_owner(path, status)


def check_directory(path: Path, *, read_only: bool, folders: str = "", below: str = "") -> None:
    """Check a directory that an engine has for itself and all in it: files, and directories where
    folders, a regular expression, matches the whole of a path. below: what paths in it begin with.

    A writer that is alive may remove some of it meanwhile.
    """
    status = path.lstat()
    if not S_ISDIR(status.st_mode):
        raise _strange(path, status, "directory")
    if not read_only:
        _check_owner(path, status)
    for inner in path.iterdir():
        name = below + inner.name
        if re.fullmatch(folders, name) is None:
            check_file(inner, read_only=read_only)
            continue
        with suppress(FileNotFoundError):
            check_directory(inner, read_only=read_only, folders=folders, below=f"{name}/")


def check_held(path: Path, *, read_only: bool, folder: str = "", folders: str = "") -> None:
    """Check one that is held open, by a path through its descriptor: files, and the directory of an
    engine, by its name, or what a crash has left of one, as check_directory() does."""
    if not read_only:
        _check_owner(path, path.stat())
    held = {folder, folder + TEMPORARY_SUFFIX} if folder else set()
    for inner in path.iterdir():
        if inner.name not in held:
            check_file(inner, read_only=read_only)
            continue
        with suppress(FileNotFoundError):
            check_directory(inner, read_only=read_only, folders=folders)


def _strange(path: Path, status: os.stat_result, kind: str) -> CorruptDatabaseError:
    if S_ISLNK(status.st_mode):
        problem = "this is a link, and inside a database nothing follows one"
        return CorruptDatabaseError(path, problem, "put there what it leads to")
    return CorruptDatabaseError(path, f"this is no {kind}", f"put the {kind} there that was here")


def _check_owner(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        problem = f"it belongs to user {_name(status.st_uid)}, and a writer changes only its own"
        raise WrongDatabaseError(path, f"{problem} files; run as that user, or only read it")


def _name(user_id: int) -> str:
    try:
        return pwd.getpwuid(user_id).pw_name
    except KeyError:
        return str(user_id)
