"""A place: a directory, and control groups, within which this machine is as a profile says."""

import os
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cdb.errors import CdbError
from cdb.lab.cleanup import DISK, IMAGE, PREFIX, keeping, make_folder, remove, remove_remains
from cdb.lab.disk_speed import DiskSpeed, disk_speed
from cdb.lab.groups import make_group
from cdb.lab.image import EXT4, FileSystem, make_disk
from cdb.lab.process import Limits, NotMeasuredError, WorkloadError, fresh_within
from cdb.lab.profile import Profile
from cdb.lab.throttle import controllers, throttle
from cdb.process.children import Child, DiedError, Pipe, Spawn

TOLERANCE = 0.25
# Python with a schema's libraries alone takes nearly half of it.
LEAST_MEMORY_BYTES = 100_000_000
TRIES = 3


@dataclass(frozen=True, slots=True)
class Place:
    """An empty directory; the files cgroup.procs that who works there joins (see fresh_within).

    measured: what the limits came to; None without limits on the disk.
    """

    directory: Path
    join: tuple[Path, ...]
    measured: DiskSpeed | None


@contextmanager
def place(profile: Profile, parent: Path, size_bytes: int) -> Iterator[Place]:
    """Make a place below `parent` with room for so much; it is gone at the end, whatever happens.

    A process of its own takes it away: after an exception, Ctrl-C, and kill -9 of this process.
    Who is still in its groups then is killed. Raises NotMeasuredError where the profile can't be
    had on this machine, or the limits, once measured, are others.
    """
    _check_memory(profile)
    file_system = EXT4 if profile.limits_disk else None
    folder = new_folder(parent)
    with kept(folder, profile, size_bytes, file_system) as join:
        disk = folder / DISK
        measured = _measure(profile, disk, join) if profile.limits_disk else None
        yield Place(disk, join, measured)


def _measure(profile: Profile, disk: Path, join: tuple[Path, ...]) -> DiskSpeed:
    """More than once, if need be: somebody else may be busy on the disk below."""
    for left in reversed(range(TRIES)):
        try:
            measured = fresh_within(Limits(join), disk_speed, str(disk))
            check(profile, measured)
            break
        except WorkloadError as error:
            raise NotMeasuredError(f"the limits can't be measured: {error}") from error
        except NotMeasuredError:
            if not left:
                raise
    return measured


def check(profile: Profile, measured: DiskSpeed) -> None:
    """Raise NotMeasuredError unless what was measured is about what was asked for."""
    for unit, asked, found in (
        ("bytes/s read", profile.read_bytes_per_second, measured.read_bytes_per_second),
        ("bytes/s written", profile.write_bytes_per_second, measured.write_bytes_per_second),
        ("IOPS", profile.iops, measured.iops),
    ):
        if asked is not None and abs(found - asked) > TOLERANCE * asked:
            problem = f"{asked:,} {unit} were asked for, {found:,.0f} measured"
            raise NotMeasuredError(f"the limits don't hold here: {problem}")


def _check_memory(profile: Profile) -> None:
    if profile.memory_bytes is not None and profile.memory_bytes < LEAST_MEMORY_BYTES:
        asked = f"{profile.memory_bytes / 1e6:,.0f} MB"
        raise NotMeasuredError(f"{asked} are too few for Python alone")
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if profile.memory_bytes is not None and profile.memory_bytes > there:
        asked = f"{profile.memory_bytes / 1e9:.1f} GB"
        raise NotMeasuredError(f"this machine's memory is {there / 1e9:.1f} GB, not {asked}")


def new_folder(parent: Path) -> Path:
    """Where a keeper may make the next place."""
    return parent.resolve() / f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}"


@contextmanager
def kept(
    folder: Path, profile: Profile, size_bytes: int, file_system: FileSystem | None
) -> Iterator[tuple[Path, ...]]:
    """What a keeper makes: the groups to join. Without a file system it is a directory.

    Raises NotMeasuredError where it can't be made.
    """
    way = Spawn(is_apart=True, outlives=True)
    keeper = way.start(_keep, folder, profile, size_bytes, file_system)
    try:
        yield _made_by(keeper)
    finally:
        _leave(keeper)


def _made_by(keeper: Child) -> tuple[Path, ...]:
    try:
        answer: tuple[Path, ...] | CdbError = keeper.receive()
    except DiedError:
        raise NotMeasuredError("the place's keeper died") from None
    if isinstance(answer, CdbError):
        raise answer
    return answer


def _leave(keeper: Child) -> None:
    """Have the place taken away. Raises CdbError for what is left of it."""
    with suppress(ConnectionError):
        keeper.pipe.send(None)
    left: CdbError | None = None
    with suppress(DiedError):
        while True:
            told = keeper.receive()  # perhaps its first answer, where Ctrl-C came before it
            if isinstance(told, CdbError) and not isinstance(told, NotMeasuredError):
                left = told
    keeper.pipe.close()
    if left is not None:
        raise left


def _keep(
    pipe: "Pipe[Any, Any]",
    folder: Path,
    profile: Profile,
    size_bytes: int,
    file_system: FileSystem | None,
) -> None:
    """Make a place, send its groups or why there is none, and take it away when something comes or
    the pipe is closed, as the kernel does even after kill -9. Then send what is left of it, if any.
    """
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
