"""What the system has of a place, see cdb.lab.places, and that nothing of it stays."""

import time
from pathlib import Path

from cdb.lab.groups import groups_named

GONE_SECONDS = 60


def seen(folder: Path) -> str:
    """What the system has of a place: its groups, mount, loop device and files."""
    found = ["group" for _ in groups_named(folder.name)]
    found += ["mount" for line in lines_of(Path("/proc/self/mounts")) if folder.name in line]
    for loop in Path("/sys/block").glob("loop*/loop/backing_file"):
        found += ["loop" for line in lines_of(loop) if folder.name in line]
    return " ".join(found + ["files" for _ in folder.parent.glob(folder.name)])


def lines_of(path: Path) -> list[str]:
    """The lines of a file; none of one that isn't there."""
    try:
        return path.read_text().splitlines()
    except OSError:  # a loop device may go meanwhile
        return []


def wait_until_gone(folder: Path) -> None:
    """Its keeper works on, and the kernel takes a moment to give a loop device back."""
    for _ in range(GONE_SECONDS * 10):
        if not seen(folder):
            return
        time.sleep(0.1)
    assert seen(folder) == ""
