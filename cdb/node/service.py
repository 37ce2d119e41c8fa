"""The lock of chia's service, which runs the node of a file."""

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path

from cdb.disk.paths import located
from cdb.errors import DatabaseLockedError, storage_errors

RUNNING = "a node has it open; stop the node"


@contextmanager
def service_stopped(file: str | PathLike[str]) -> Iterator[None]:
    """Keep chia's service from starting, where the file lies in db/ of its root directory.

    file: as it was given. That directory of a root may be a link to one on another disk, as the
    file may be one into a root. Raises DatabaseLockedError while it runs.
    """
    places = [Path(file).absolute(), located(file, read_only=False)]
    locks = [place.parent.parent / "run" / "full_node.lock" for place in places]
    with ExitStack() as held:
        for lock in {lock.resolve() for lock in locks if lock.is_file()}:
            with storage_errors(lock):
                opened = held.enter_context(lock.open("rb"))
                try:
                    fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise DatabaseLockedError(places[0], RUNNING) from None
        yield
