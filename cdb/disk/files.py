"""Files that survive: fsync, atomic replacement, and errors that name the file and the reason.

``durable`` says whether power loss counts. Without it nothing is fsynced: what was written still
survives the death of the process, since the kernel holds it, and files are still replaced whole.

After a failed fsync nobody knows what is on the disk, and a second one may lie. So no function
here retries, and its caller must not either: give up the object and open it again.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from cdb.disk.paths import TEMPORARY_SUFFIX, check_directory, check_file, own, write_own
from cdb.errors import StorageError, storage_errors

SQLITE_MAGIC = b"SQLite format 3\0"
"""Every SQLite file begins so."""


def fsync_file(path: Path) -> None:
    """Return once the file's contents are on the disk."""
    _fsync(path, os.O_RDONLY | os.O_NOFOLLOW)


def fsync_dir(path: Path) -> None:
    """Return once the directory's entries (creations, renames, removals) are on the disk."""
    _fsync(path, os.O_RDONLY | os.O_DIRECTORY)


def _fsync(path: Path, flags: int) -> None:
    with storage_errors(path):
        descriptor = os.open(path, flags | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def temporary(path: Path) -> Path:
    """Where the next version of path is written before it takes that name."""
    return path.with_name(path.name + TEMPORARY_SUFFIX)


def publish(path: Path, *, durable: bool) -> None:
    """Give the finished file at temporary(path) its name, in one step.

    durable: contents before name, and the name before this returns.
    """
    finished = temporary(path)
    if durable:
        fsync_file(finished)  # fault: published-file-not-synced
    with storage_errors(path):
        finished.replace(path)
    if durable:
        fsync_dir(path.parent)


def replace_file(path: Path, data: bytes, *, durable: bool) -> None:
    """Make data the file's contents: a crash leaves the old contents or the new."""
    with storage_errors(path):
        write_own(temporary(path), data)
    publish(path, durable=durable)


def write_output(path: Path, data: bytes) -> None:
    """Write a file that a user has named; see output_file."""
    with output_file(path) as stream, storage_errors(path):
        stream.write(data)


@contextmanager
def output_file(path: Path) -> Iterator[BinaryIO]:
    """A stream to write a file that a user has named: in one step at the end, durably. A pipe or a
    device is written as it is.

    An error leaves what was there before, and nothing else. Neither through a link nor over another
    user's file. Raises WrongDatabaseError or StorageError.
    """
    with storage_errors(path):
        is_special = path.exists() and not path.is_file()
        if not path.parent.is_dir():
            raise StorageError(path, f"{path.parent} is no directory; create it first")
        if not is_special:
            if path.is_symlink():
                raise StorageError(path, "this is a link; name the file that it leads to")
            check_file(path, read_only=False)
        unfinished = path if is_special else temporary(path)
        opener = None if is_special else own
        stream = open(unfinished, "wb", opener=opener)  # noqa: SIM115
    try:
        with storage_errors(path), stream:
            yield stream
    except BaseException:
        if not is_special:
            unfinished.unlink(missing_ok=True)
        raise
    if not is_special:
        publish(path, durable=True)


def make_dir(path: Path, *, durable: bool, folders: str = "") -> None:
    """Create the directory unless it is there; its parent must exist. folders: see
    check_directory()."""
    with storage_errors(path):
        path.mkdir(exist_ok=True)
        check_directory(path, read_only=False, folders=folders)
    if durable:
        fsync_dir(path.parent)


def remove_dir(path: Path) -> None:
    """Remove a directory with all in it, if it is there, durably: no crash leaves a part of it.

    What a crash leaves at temporary(path) goes with the next call, and with finish_removal().
    """
    finish_removal(path)
    if path.exists():
        with storage_errors(path):
            path.replace(temporary(path))
        fsync_dir(path.parent)
        finish_removal(path)


def finish_removal(path: Path) -> None:
    """Remove what a crash has left of a directory that remove_dir() was to remove."""
    doomed = temporary(path)
    if doomed.exists():
        with storage_errors(path):
            shutil.rmtree(doomed)
