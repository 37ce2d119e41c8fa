"""The directory in which a backup, or what is restored, is made before it takes its name."""

import os
import shutil
from collections.abc import Set
from pathlib import Path

from cdb.disk.files import fsync_dir
from cdb.disk.home import LOCK_FILE, Lock
from cdb.errors import WrongDatabaseError, storage_errors


def take(work: Path, names: Set[str], who: str) -> Lock:
    """Make the directory, or take what a command that was killed has left; nobody else has it then.

    names: what such a command may leave. who: needs it, for the message. Raises WrongDatabaseError
    where something else is there, or these names without the lock, which such a command makes
    first, durably, and removes last; and DatabaseLockedError.
    """
    with storage_errors(work):
        if os.path.lexists(work) and (
            work.is_symlink()
            or not work.is_dir()
            or not _is_ours({each.name for each in work.iterdir()}, names)
        ):
            raise WrongDatabaseError(work, f"{who} needs this name; move away what is here")
        work.mkdir(exist_ok=True)
    lock = Lock(work / LOCK_FILE, work)
    try:
        lock.check_in_place()
        with storage_errors(work):
            if not _is_ours({each.name for each in work.iterdir()}, names):
                raise WrongDatabaseError(work, f"{who} needs this name; move away what is here")
        fsync_dir(work)
    except BaseException:
        lock.release()
        raise
    return lock


def _is_ours(found: Set[str], names: Set[str]) -> bool:
    return not found or (LOCK_FILE in found and found <= {LOCK_FILE, *names})


def empty(work: Path, lock: Lock) -> None:
    """Remove all but the lock, which is held. Raises StorageError where another directory is there
    by now."""
    lock.check_in_place()
    with storage_errors(work):
        for each in work.iterdir():
            if each.is_dir() and not each.is_symlink():
                shutil.rmtree(each)
            elif each.name != LOCK_FILE:
                each.unlink()


def remove(work: Path, lock: Lock) -> None:
    """Remove it with all that is in it; see empty()."""
    empty(work, lock)
    with storage_errors(work):
        (work / LOCK_FILE).unlink(missing_ok=True)
        work.rmdir()
