"""What is mounted where, and of which file's contents, as Linux says; nothing elsewhere."""

import re
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
DEVICES = Path("/sys/dev/block")
_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One that is mounted on a directory.

    device: its numbers, as in 7:0. image: the file behind a loop device; None for any other.
    """

    directory: Path
    device: str
    image: Path | None


def mounts_below(
    directory: Path, mounts: Path = MOUNTS, devices: Path = DEVICES
) -> tuple[Mount, ...]:
    """All mounts on a directory, whose path is without links, and below it."""
    if not mounts.exists():
        return ()
    # Which mount, its parent, the device, what of it, where, …
    text = mounts.read_text("utf-8", "surrogateescape")
    lines = [line.split(" ")[2:5] for line in text.splitlines()]
    return tuple(
        Mount(where, device, _image(devices / device))
        for device, _, escaped in lines
        if (where := _unescaped(escaped)).is_relative_to(directory)
    )


def _unescaped(path: str) -> Path:
    return Path(_ESCAPED.sub(lambda match: chr(int(match[1], 8)), path))


def _image(device: Path) -> Path | None:
    try:
        return Path((device / "loop" / "backing_file").read_text("utf-8").removesuffix("\n"))
    except OSError:
        return None
