"""A limit on memory, page cache included, for the processes of a control group of Linux."""

import errno
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cdb.bench.process import NotMeasuredError

# Python with a schema's libraries alone takes nearly half of it.
LEAST_BYTES = 100_000_000
MOUNTS = Path("/proc/self/mounts")
GROUPS = Path("/proc/self/cgroup")
_PROCS = "cgroup.procs"
_END_TRIES = 50


@contextmanager
def limited_memory(limit_bytes: int) -> Iterator[Path]:
    """A group below this process's own; its file cgroup.procs takes the ids of who joins.

    It is removed at the end, when all who joined have to be gone.
    Raises NotMeasuredError where the limit is too small, or no such group can be had.
    """
    if limit_bytes < LEAST_BYTES:
        raise NotMeasuredError(f"{limit_bytes / 1e6:,.0f} MB are too few for Python alone")
    try:
        group = _make_group(limit_bytes)
    except OSError as error:
        raise NotMeasuredError(f"no control group for memory: {error.strerror}") from error
    try:
        yield group / _PROCS
    finally:
        _remove(group)


def _make_group(limit_bytes: int) -> Path:
    above, limit_file = place_for_groups()
    group = above / f"cdb-bench-{secrets.token_hex(4)}"
    group.mkdir()
    try:
        (group / limit_file).write_text(f"{limit_bytes}\n", "ascii")
    except OSError:
        group.rmdir()
        raise
    return group


def place_for_groups(groups: Path = GROUPS, mounts: Path = MOUNTS) -> tuple[Path, str]:
    """The directory of a group that may have more below it, and the file that takes a limit.

    With version 1 that is this process's own group. With version 2 a group has either processes or
    groups below it, so it is the one above. Raises NotMeasuredError.
    """
    for _, controllers, path in _fields(groups, ":"):
        for _, directory, kind, options, *_ in _fields(mounts, " "):
            own = Path(directory) / path.lstrip("/")
            is_for_memory = "memory" in controllers.split(",") and "memory" in options.split(",")
            if kind == "cgroup" and is_for_memory:
                return own, "memory.limit_in_bytes"
            if kind == "cgroup2" and not controllers and _offers_memory(own.parent):
                return own.parent, "memory.max"
    raise NotMeasuredError("no control group for memory can be made here")


def _fields(path: Path, separator: str) -> list[list[str]]:
    if not path.exists():
        return []
    return [line.split(separator) for line in path.read_text("utf-8").splitlines()]


def _offers_memory(group: Path) -> bool:
    offered = group / "cgroup.subtree_control"
    return offered.exists() and "memory" in offered.read_text("ascii").split()


def _remove(group: Path) -> None:
    """A process that has ended may count as there for a moment yet."""
    for left in reversed(range(_END_TRIES)):
        try:
            return group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or not left:
                raise
            time.sleep(0.1)
    return None
