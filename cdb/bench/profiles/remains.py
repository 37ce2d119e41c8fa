"""Takes away what was made for a place: the processes in it, its control group, its disk."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdb.bench.groups import groups_named
from cdb.bench.profiles.image import numbers, unmount_at_last
from cdb.bench.profiles.profile import FAST
from cdb.bench.profiles.throttle import throttle

PREFIX = "cdb-place-"
DISK = "disk"  # in the folder of a place: the directory that is lent
IMAGE = "image"


def remove_remains(parent: Path) -> None:
    """Remove the places below `parent` whose keepers have died. Raises CdbError or OSError."""
    for folder in parent.glob(f"{PREFIX}*"):
        with keeping(folder) as dead:
            if dead:
                remove(folder)


def remove(folder: Path) -> None:
    """Remove a place. All that belongs to it is found by its folder's name."""
    disk = folder / DISK
    groups = groups_named(folder.name)
    if disk.is_mount():
        for group in groups:
            throttle(numbers(disk), FAST, group)  # a write that is under way ends sooner
    for group in groups:
        group.end()
    shutil.rmtree(disk, ignore_errors=True)  # before it is unmounted: what is gone isn't written
    if disk.is_mount():
        unmount_at_last(disk)
    shutil.rmtree(folder)


@contextmanager
def keeping(folder: Path) -> Iterator[bool]:
    """A lock on the folder, which ends with the process; false where another one has it."""
    try:
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        yield False
        return
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(directory)
