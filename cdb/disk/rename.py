"""A file or a directory takes a name that nothing has: nothing is overwritten."""

import ctypes
import errno
import os
from pathlib import Path

from cdb.disk.files import fsync_dir
from cdb.errors import UnsupportedError, storage_errors

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def rename_new(path: Path, target: Path) -> None:
    """Give a file or a directory a name that nothing has, durably.

    Raises UnsupportedError where the system or the file system can't, and StorageError, also where
    something has the name.
    """
    number = _error_of_rename(path, target)
    if number in _CANNOT:
        problem = f"names of {target.parent} can't be changed so that none is lost"
        raise UnsupportedError(f"{problem}; copy it to an ext4, XFS or Btrfs file system of Linux")
    with storage_errors(target):
        if number:
            raise OSError(number, os.strerror(number))
    fsync_dir(target.parent)  # fault: new-name-not-synced
    fsync_dir(path.parent)


def _error_of_rename(path: Path, target: Path) -> int:
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return errno.ENOSYS
    directory, name = ctypes.c_int, ctypes.c_char_p
    renameat2.argtypes = (directory, name, directory, name, ctypes.c_uint)
    names = os.fsencode(path), os.fsencode(target)
    failed = renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_NOREPLACE)
    return ctypes.get_errno() if failed else 0
