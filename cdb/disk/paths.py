"""Where a database is: the path that a user names, resolved once, when it is opened.

Links may lead to a database. What lies beside it lies beside the file that they lead to: so all who
come by whatever path find the same lock and the same -wal, and a later chdir changes nothing.
"""

import os
from os import PathLike
from pathlib import Path

from cdb.disk.files import storage_error
from cdb.disk.standard import keep_standard_descriptors
from cdb.errors import DatabaseNotFoundError, WrongDatabaseError


def located(path: str | PathLike[str], *, read_only: bool) -> Path:
    """The absolute path, without links; of what is still to be made, where it is to be made.

    Raises DatabaseNotFoundError where nothing is, or for a writer no directory to hold it,
    WrongDatabaseError for the root directory, and StorageError where the system can't tell, as for
    links in a circle. All name the path as it was given.

    Every opening begins here, so from here on no file of a database can take the number of a
    standard stream that is closed.
    """
    try:
        keep_standard_descriptors()
        real = _real(Path(path), read_only=read_only)
    except OSError as error:
        raise storage_error(Path(path), error) from error
    if not real.name:
        raise WrongDatabaseError(path, "this is the root directory; name a new path in it")
    return real


def _real(path: Path, *, read_only: bool) -> Path:
    try:
        return Path(os.path.realpath(path, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        real = Path(os.path.realpath(path))
    # The parent as it was given, too: what is not there can't be gone back from with "..".
    if not read_only and path.parent.is_dir() and real.parent.is_dir():
        return real
    problem = "no database" if read_only else "no directory that could hold it"
    where = "here" if real == path.absolute() else f"where it leads to, {real}"
    raise DatabaseNotFoundError(path, f"{problem} is {where}")
