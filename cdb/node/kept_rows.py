"""A backup keeps the rows of cdb_ops: it copies the log first, and the file has the rest.

Who keeps them holds a shared flock on the log's directory, and the node, before it deletes rows,
sees whether it could have that alone. Nothing is written, so a reader may do it; and the system
lets go of it when the process ends, however it ends, so nothing is kept for ever.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdb.errors import storage_errors


@contextmanager
def rows_kept(log_path: Path) -> Iterator[None]:
    """Have no node delete rows from now on that the log, if it is opened now, does not have."""
    with storage_errors(log_path):
        descriptor = _opened(log_path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        except BaseException:
            os.close(descriptor)
            raise
    try:
        yield
    finally:
        os.close(descriptor)


def are_kept(log_path: Path) -> bool:
    """Whether somebody keeps rows; also where nobody can tell."""
    try:
        descriptor = _opened(log_path)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
    except OSError:
        return True
    return False


def _opened(log_path: Path) -> int:
    return os.open(log_path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
