"""One writer a database."""

import fcntl
import os
from pathlib import Path

from cdb.engines.files import storage_errors
from cdb.errors import DatabaseLockedError


class Lock:
    """An exclusive lock on a file of its own, held until release() or the end of the process.

    flock, not fcntl: that one is granted twice within a process, and lost when any descriptor of
    the file is closed. The file stays, because removing it would race with the next writer.
    Raises DatabaseLockedError, naming the database, when another holder is alive.
    """

    def __init__(self, lock_path: Path, database_path: Path) -> None:
        with storage_errors(lock_path):
            self._descriptor = os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            problem = "another process has this database open for writing; wait until it is done"
            raise DatabaseLockedError(database_path, problem) from None

    def release(self) -> None:
        """Release the lock. Once only."""
        os.close(self._descriptor)
