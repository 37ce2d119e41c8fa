"""Where a database is: the path that a user names, resolved once, when it is opened.

Links may lead to a database. What lies beside it lies beside the file that they lead to: so all who
come by whatever path find the same lock and the same -wal, and a later chdir changes nothing.
"""

import os
from os import PathLike
from pathlib import Path

from cdb.engines.files import storage_error
from cdb.errors import DatabaseNotFoundError


def located(path: str | PathLike[str], *, read_only: bool) -> Path:
    """The absolute path, without links; of what is still to be made, where it is to be made.

    Raises DatabaseNotFoundError where nothing is, or for a writer no directory to hold it, and
    StorageError for links in a circle. Both name the path as it was given.
    """
    try:
        return Path(os.path.realpath(path, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        real = Path(os.path.realpath(path))
    except OSError as error:
        raise storage_error(Path(path), error) from error
    if not read_only and real.parent.is_dir():
        return real
    problem = "no database" if read_only else "no directory that could hold it"
    where = "here" if real == Path(path).absolute() else f"where it leads to, {real}"
    raise DatabaseNotFoundError(path, f"{problem} is {where}")
