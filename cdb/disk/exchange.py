"""Names change in one step, and none that is there is lost: whoever looks sees before or after."""

import ctypes
import errno
import os
from functools import cache
from pathlib import Path
from typing import Any

from cdb.disk.files import fsync_dir
from cdb.errors import UnsupportedError, storage_errors

_AT_FDCWD = -100
_RENAME_NOREPLACE, _RENAME_EXCHANGE = 1, 2
_CANNOT = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def exchange(one: Path, other: Path) -> None:
    """Have two files or directories that lie side by side change names, durably.

    Raises UnsupportedError where the system or the file system can't, and StorageError.
    """
    _rename(other, one, _RENAME_EXCHANGE)
    fsync_dir(one.parent)


def rename_new(path: Path, target: Path) -> None:
    """Give a file or a directory a name that nothing has, durably.

    Raises UnsupportedError as exchange() does, and StorageError also where something has it.
    """
    _rename(path, target, _RENAME_NOREPLACE)
    fsync_dir(target.parent)
    fsync_dir(path.parent)


def _rename(one: Path, other: Path, flag: int) -> None:
    number = _error_of_rename(one, other, flag)
    if number in _CANNOT:
        problem = f"names of {other.parent} can't be changed so that none is lost"
        raise UnsupportedError(f"{problem}; copy it to an ext4, XFS or Btrfs file system of Linux")
    with storage_errors(other):
        if number:
            raise OSError(number, os.strerror(number))


def _error_of_rename(one: Path, other: Path, flag: int) -> int:
    renameat2 = _renameat2()
    if renameat2 is None:
        return errno.ENOSYS
    names = os.fsencode(one), os.fsencode(other)
    failed = renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], flag)
    return ctypes.get_errno() if failed else 0


@cache
def _renameat2() -> Any:
    """The C library's function; None where it has none."""
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is not None:
        directory, name = ctypes.c_int, ctypes.c_char_p
        function.argtypes = (directory, name, directory, name, ctypes.c_uint)
    return function
