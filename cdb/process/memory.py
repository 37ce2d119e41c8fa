"""How much memory a process may have: the machine's, or less where a control group says so."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/proc/self/cgroup")
_TOP = Path("/sys/fs/cgroup")


def memory_bytes(groups: Path = _GROUPS, top: Path = _TOP) -> int:
    """The least of the machine's memory and the limits of this process's control groups.

    groups: what Linux says of them; top: where they usually are.
    """
    least = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for file in _limits(groups, top):
        with suppress(OSError, ValueError):  # it is not there, or it says "max"
            least = min(least, int(file.read_text("ascii")))
    return least


def _limits(groups: Path, top: Path) -> Iterator[Path]:
    """The files with the limits of this process's groups, and of all above them."""
    text = ""
    with suppress(OSError):  # another system
        text = groups.read_text("utf-8", "surrogateescape")
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:  # version 2
            place, name = top, "memory.max"
        elif "memory" in controllers.split(","):
            place, name = top / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = place / path.lstrip("/")
        yield from (each / name for each in (group, *group.parents) if each.is_relative_to(place))
