"""The process that makes a place, and takes it away when the bench closes it or dies.

A job as one line of JSON on standard input, an answer as one line on standard output. Then the end
of standard input, which the kernel closes even after kill -9, is the end of the place; a second
line says what could not be taken away.
"""

import json
import os
import signal
import sys
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


def main() -> None:
    """Keep one place."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    line = sys.stdin.readline()
    if not line:
        return
    job = json.loads(line)
    folder = Path(job["folder"])
    remove_remains(folder.parent)
    try:
        make_folder(folder)
    except OSError as error:
        _say(not_measured=str(error))
        return
    with keeping(folder) as descriptor:
        if descriptor is None:
            _say(not_measured=f"{folder}: somebody took it away")
            return
        try:
            own = job["file_system"]
            file_system = FileSystem(**own) if own else None
            _answer(folder, Profile(**job["profile"]), job["size_bytes"], file_system)
            sys.stdin.read()
        finally:
            _remove(folder, descriptor)


def _answer(
    folder: Path, profile: Profile, size_bytes: int, file_system: FileSystem | None
) -> None:
    try:
        join = _make(folder, profile, size_bytes, file_system)
    except NotMeasuredError as error:
        _say(not_measured=str(error))
    except OSError as error:
        _say(not_measured=f"the limits can't be set: {error}")
    else:
        _say(join=[str(path) for path in join])


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


def _remove(folder: Path, descriptor: int) -> None:
    try:
        remove(folder, descriptor)
    except (CdbError, OSError) as error:
        _say(left=f"{folder}: it can't be removed: {error}")


def _say(**answer: Any) -> None:
    with suppress(BrokenPipeError):  # the bench has died
        os.write(sys.stdout.fileno(), (json.dumps(answer) + "\n").encode())


if __name__ == "__main__":
    main()
