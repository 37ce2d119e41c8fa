"""The process that makes a place, and takes it away when the bench is done with it or dies.

It sends which groups to join, or why there is no place. What it receives then, or the end of the
pipe, which the kernel closes even after kill -9, is the end of the place; a second answer says what
could not be taken away.
"""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from cdb.errors import CdbError
from cdb.lab.cleanup import (
    DISK,
    IMAGE,
    keeping,
    make_folder,
    remove,
    remove_remains,
)
from cdb.lab.groups import make_group
from cdb.lab.image import FileSystem, make_disk
from cdb.lab.process import NotMeasuredError
from cdb.lab.profile import Profile
from cdb.lab.throttle import controllers, throttle
from cdb.process.children import Pipe


def keep(
    pipe: "Pipe[Any, Any]",
    folder: Path,
    profile: Profile,
    size_bytes: int,
    file_system: FileSystem | None,
) -> None:
    """Keep one place. Without a file system it is a directory."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")  # it is to keep no file system busy
    remove_remains(folder.parent)
    try:
        make_folder(folder)
    except OSError as error:
        _send(pipe, NotMeasuredError(str(error)))
        return
    with keeping(folder) as descriptor:
        if descriptor is None:
            _send(pipe, NotMeasuredError(f"{folder}: somebody took it away"))
            return
        try:
            _send(pipe, _made(folder, profile, size_bytes, file_system))
            with suppress(EOFError, ConnectionError):
                pipe.recv()
        finally:
            try:
                remove(folder, descriptor)
            except (CdbError, OSError) as error:
                _send(pipe, CdbError(f"{folder}: it can't be removed: {error}"))


def _made(
    folder: Path, profile: Profile, size_bytes: int, file_system: FileSystem | None
) -> tuple[Path, ...] | NotMeasuredError:
    try:
        return _make(folder, profile, size_bytes, file_system)
    except NotMeasuredError as error:
        return error
    except OSError as error:
        return NotMeasuredError(f"the limits can't be set: {error}")


def _make(
    folder: Path, profile: Profile, size_bytes: int, file_system: FileSystem | None
) -> tuple[Path, ...]:
    disk = folder / DISK
    if file_system is not None:
        device = make_disk(folder / IMAGE, disk, size_bytes, profile, file_system)
    else:
        disk.mkdir()
    if not profile.limits_disk and profile.memory_bytes is None:
        return ()
    needed = controllers(profile)
    group = make_group(folder.name, *needed)
    if profile.memory_bytes is not None:
        group.limit_memory(profile.memory_bytes)
    besides = throttle(device, profile, group) if profile.limits_disk else ()
    return (*besides, group.inner(*needed).procs)


def _send(pipe: "Pipe[Any, Any]", answer: tuple[Path, ...] | CdbError) -> None:
    with suppress(ConnectionError):  # the bench has died
        pipe.send(answer)
