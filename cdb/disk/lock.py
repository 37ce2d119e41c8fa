"""One writer a database."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from weakref import WeakSet

from cdb.disk.files import storage_errors
from cdb.disk.own import own
from cdb.errors import DatabaseLockedError


class Lock:
    """An exclusive lock on a file of its own, held until release() or the end of the process.

    flock, not fcntl: that one is granted twice within a process, and lost when any descriptor of
    the file is closed. The file stays, because removing it would race with the next writer.
    A child made by fork() lets go of it: else it would keep the lock when its parent is gone.
    Raises DatabaseLockedError, naming the database, when another holder is alive.
    """

    def __init__(self, lock_path: Path, database_path: Path) -> None:
        with storage_errors(lock_path):
            self._descriptor = own(lock_path, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            problem = "another process has this database open for writing; wait until it is done"
            raise DatabaseLockedError(database_path, problem) from None
        _held.add(self)

    def release(self) -> None:
        """Release the lock. Once only."""
        _held.discard(self)
        os.close(self._descriptor)


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
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        problem = "another process has it open for writing; wait until it is done"
        raise DatabaseLockedError(database_path, problem) from None
    try:
        yield
    finally:
        os.close(descriptor)
