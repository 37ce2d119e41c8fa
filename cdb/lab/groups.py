"""Control groups of Linux, of version 1 and version 2: made, entered, ended."""

import errno
import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cdb.lab.process import NotMeasuredError

MOUNTS = Path("/proc/self/mounts")
GROUPS = Path("/proc/self/cgroup")
_PROCS = "cgroup.procs"
_END_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Group:
    """A control group; processes join it by writing their ids to `procs`."""

    directory: Path
    version: int

    @property
    def procs(self) -> Path:
        """The file that takes the ids of who joins."""
        return self.directory / _PROCS

    def limit_memory(self, limit_bytes: int) -> None:
        """Let its processes have so much, page cache included, and nothing in swap beyond it."""
        if self.version == 1:
            memory, swap = "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
            swap_bytes = limit_bytes  # memory and swap together
        else:
            memory, swap = "memory.max", "memory.swap.max"
            swap_bytes = 0
        self._write(memory, limit_bytes)
        if (self.directory / swap).exists():  # not where the kernel doesn't swap or count it
            self._write(swap, swap_bytes)

    def _write(self, file: str, n_bytes: int) -> None:
        (self.directory / file).write_text(f"{n_bytes}\n", "ascii")

    def inner(self, *controllers: str) -> "Group":
        """The group to join so that more may be made beside it, by place_for_groups(), and all of
        them share this one's limits.
        """
        if self.version == 1:
            return self
        shared = self.directory / "cgroup.subtree_control"
        shared.write_text(" ".join(f"+{name}" for name in controllers), "ascii")
        group = Group(self.directory / "inner", self.version)
        group.directory.mkdir()
        return group

    def end(self) -> None:
        """Remove it and all below it. Their processes are killed; one that waits for a slow disk
        ends when it has it.
        """
        deadline = time.monotonic() + _END_SECONDS
        groups = [Path(directory) for directory, _, _ in os.walk(self.directory, topdown=False)]
        while groups:
            try:
                _kill(groups[0] / _PROCS)
                groups[0].rmdir()
                groups.pop(0)
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)


def make_group(name: str, *controllers: str) -> Group:
    """A new group with these controllers. Raises NotMeasuredError where none can be had."""
    above = place_for_groups(*controllers)
    group = Group(above.directory / name, above.version)
    try:
        group.directory.mkdir()
    except OSError as error:
        wanted = " and ".join(controllers)
        raise NotMeasuredError(f"no control group for {wanted}: {error.strerror}") from error
    return group


def place_for_groups(*controllers: str, groups: Path = GROUPS, mounts: Path = MOUNTS) -> Group:
    """The group that may have more below it, with these controllers.

    With version 1 that is this process's own group. With version 2 a group has either processes or
    groups below it, so it is the nearest one above that shares out the controllers.
    Raises NotMeasuredError.
    """
    for _, own_controllers, path in _fields(groups, ":"):
        for _, top, kind, options, *_ in _fields(mounts, " "):
            own = Path(top) / path.lstrip("/")
            if kind == "cgroup" and _all_in(controllers, own_controllers, options):
                return Group(own, 1)
            if kind == "cgroup2" and not own_controllers:
                for above in (own, *own.parents):
                    if _shares_out(above, controllers):
                        return Group(above, 2)
    raise NotMeasuredError(f"no control group for {' and '.join(controllers)} can be made here")


def groups_named(name: str, mounts: Path = MOUNTS) -> list[Group]:
    """All groups of that name, wherever they are."""
    versions = {"cgroup": 1, "cgroup2": 2}
    return [
        Group(Path(above, name), versions[kind])
        for _, top, kind, *_ in _fields(mounts, " ")
        if kind in versions
        for above, below, _ in os.walk(top)
        if name in below
    ]


def top_of(controller: str, mounts: Path = MOUNTS) -> Group | None:
    """The group above all others with this controller, if that has version 1."""
    for _, top, kind, options, *_ in _fields(mounts, " "):
        if kind == "cgroup" and _all_in((controller,), options):
            return Group(Path(top), 1)
    return None


def _kill(procs: Path) -> None:
    for process in procs.read_text("ascii").split():
        with suppress(ProcessLookupError):
            os.kill(int(process), signal.SIGKILL)


def _fields(path: Path, separator: str) -> list[list[str]]:
    if not path.exists():
        return []
    text = path.read_text("utf-8", "surrogateescape")  # paths are bytes
    return [line.split(separator) for line in text.splitlines()]


def _all_in(controllers: Iterable[str], *lists: str) -> bool:
    return all(set(controllers) <= set(each.split(",")) for each in lists)


def _shares_out(group: Path, controllers: Iterable[str]) -> bool:
    offered = group / "cgroup.subtree_control"
    return offered.exists() and set(controllers) <= set(offered.read_text("ascii").split())
