"""Two names in one directory change places in one step: whoever looks sees them before or after."""

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

from cdb.disk.files import fsync_dir
from cdb.errors import UnsupportedError, storage_errors

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def exchange(one: Path, other: Path) -> None:
    """Have two files or directories that lie side by side change names, durably.

    Raises UnsupportedError where the system or the file system can't, and StorageError.
    """
    number = _error_of_exchange(one, other)
    if number in _CANNOT:
        problem = f"no two names of {one.parent} can be exchanged in one step"
        raise UnsupportedError(f"{problem}; copy it to an ext4, XFS or Btrfs file system of Linux")
    with storage_errors(one):
        if number:
            raise OSError(number, os.strerror(number))
    fsync_dir(one.parent)


def _error_of_exchange(one: Path, other: Path) -> int:
    renameat2 = _renameat2()
    if renameat2 is None:
        return errno.ENOSYS
    names = os.fsencode(one), os.fsencode(other)
    failed = renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
    return ctypes.get_errno() if failed else 0


@cache
def _renameat2() -> Any:
    """The C library's function; None where it has none."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        directory, name = ctypes.c_int, ctypes.c_char_p
        function.argtypes = (directory, name, directory, name, ctypes.c_uint)
    return function
