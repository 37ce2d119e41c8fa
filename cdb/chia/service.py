"""The lock of chia's service, which runs the node of a file."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdb.errors import DatabaseLockedError, storage_errors

RUNNING = "a node has it open; stop the node"


@contextmanager
def service_stopped(file: Path) -> Iterator[None]:
    """Keep chia's service from starting, where the file lies in db/ of its root directory.

    Raises DatabaseLockedError while it runs.
    """
    lock = file.parent.parent / "run" / "full_node.lock"
    if not lock.is_file():
        yield
        return
    with storage_errors(lock), lock.open("rb") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DatabaseLockedError(file, RUNNING) from None
        yield
