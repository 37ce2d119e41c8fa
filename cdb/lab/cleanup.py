"""Takes away what was made for a place: the processes in it, its control group, its disk.

What is below a directory that others may write to need not be what it is called. So a place is a
directory of this user's that nobody else may enter, opened without following a link; of a disk only
the one is taken away that is made of the image in that directory. Anything else stays as it is.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE

from cdb.errors import CdbError
from cdb.lab.groups import groups_named
from cdb.lab.image import unmount_at_last
from cdb.lab.mounts import mounts_below
from cdb.lab.profile import FAST
from cdb.lab.throttle import throttle

PREFIX = "cdb-place-"
DISK = "disk"  # in the folder of a place: the directory that is lent
IMAGE = "image"
_MODE = 0o700


def make_folder(folder: Path) -> None:
    """Make the folder of a place. Raises OSError."""
    folder.mkdir(_MODE)


def remove_remains(parent: Path) -> None:
    """Remove the places below `parent` whose keepers have died, as far as that can be done."""
    for folder in parent.resolve().glob(f"{PREFIX}*"):
        with suppress(CdbError, OSError), keeping(folder) as descriptor:
            if descriptor is not None:
                remove(folder, descriptor)


def remove(folder: Path, descriptor: int) -> None:
    """Remove a place; its groups are found by its folder's name. Raises CdbError or OSError.

    descriptor: of the folder, as keeping() gives it.
    """
    mounts = mounts_below(folder)
    for mount in mounts:
        if mount.directory != folder / DISK or mount.image != folder / IMAGE:
            raise CdbError(f"{mount.directory}: somebody else's disk is mounted here")
    groups = groups_named(folder.name)
    for group in groups:
        for mount in mounts:
            throttle(mount.device, FAST, group)  # a write that is under way ends sooner
        group.end()
    # Before it is unmounted: what is gone isn't written.
    shutil.rmtree(DISK, ignore_errors=True, dir_fd=descriptor)
    for _ in mounts:
        unmount_at_last(Path(f"/proc/{os.getpid()}/fd/{descriptor}", DISK))
    with suppress(FileNotFoundError):
        shutil.rmtree(DISK, dir_fd=descriptor)
    with suppress(FileNotFoundError):
        os.unlink(IMAGE, dir_fd=descriptor)
    folder.rmdir()


@contextmanager
def keeping(folder: Path) -> Iterator[int | None]:
    """A lock on the folder of a place, which ends with the process: the folder's descriptor.

    None where another process has it, and where that is no place of this user's.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        yield None
        return
    try:
        yield descriptor if _is_own(descriptor) and _is_free(descriptor) else None
    finally:
        os.close(descriptor)


def _is_own(descriptor: int) -> bool:
    status = os.fstat(descriptor)
    return (status.st_uid, S_IMODE(status.st_mode)) == (os.geteuid(), _MODE)


def _is_free(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
