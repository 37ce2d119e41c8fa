"""The script chia_full_node, by which `chia start node` starts a node with its coins in cdb.

chia's daemon runs what is called chia_full_node on its PATH.
"""

import os
import shlex
import shutil
import sysconfig
from os import PathLike
from pathlib import Path

from cdb.chia.full_node import check_installed
from cdb.disk.files import fsync_dir, publish, temporary
from cdb.disk.paths import located, own, read_own
from cdb.errors import DatabaseNotFoundError, MissingEngineError, WrongDatabaseError, storage_errors

NAME = "chia_full_node"
_RUNS = "cdb_full_node"
_MARK = "# Made by 'cdb node install'; 'cdb node remove' takes it away."
_EXECUTABLE = 0o755


def install(directory: str | PathLike[str]) -> Path:
    """Write the script into a directory, again if it is there; its path.

    Raises SchemaError where there is nothing to run, WrongDatabaseError for a file that is
    none of ours, DatabaseNotFoundError without a directory, and StorageError.
    """
    path = _path(directory)
    runs = Path(sysconfig.get_path("scripts")) / _RUNS
    check_installed()
    if not os.access(runs, os.X_OK):
        again = "pip install --force-reinstall --no-deps, with cdb's wheel or checkout, makes it"
        raise MissingEngineError(f"{runs} is not there; {again}")
    if os.path.lexists(path):
        _check_ours(path)
    text = f'#!/bin/sh\n{_MARK}\nexec {shlex.quote(str(runs))} "$@"\n'
    finished = temporary(path)
    with storage_errors(path), open(finished, "wb", opener=own) as script:
        script.write(os.fsencode(text))
        os.fchmod(script.fileno(), _EXECUTABLE)
    publish(path, durable=True)
    return path


def remove(directory: str | PathLike[str]) -> Path:
    """Remove the script from a directory; where it was. Raises DatabaseError, as install() does."""
    path = _path(directory)
    if not os.path.lexists(path):
        raise DatabaseNotFoundError(path, "no such script is here")
    _check_ours(path)
    with storage_errors(path):
        path.unlink()
    fsync_dir(path.parent)
    return path


def found_first() -> Path | None:
    """What PATH leads to, which the daemon would run; None: nothing."""
    found = shutil.which(NAME)
    return None if found is None else Path(found).resolve()


def _path(directory: str | PathLike[str]) -> Path:
    found = located(directory, read_only=True, what="directory")
    if not found.is_dir():
        raise WrongDatabaseError(found, "this is no directory; name one")
    return found / NAME


def _check_ours(path: Path) -> None:
    if not path.is_symlink() and path.is_file():
        with storage_errors(path):
            text = read_own(path) or b""
        if _MARK.encode("ascii") in text.splitlines():
            return
    raise WrongDatabaseError(path, "this is not what 'cdb node install' made; name another DIR")
