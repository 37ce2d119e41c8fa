"""How often a disk has flushed its cache, for all processes: what durable means at the end.

An engine that makes system calls itself can't hide it, as it can from cdb.bench.sync_calls.
"""

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

_FLUSHES = 15
"""Where it is among the numbers of a disk, see Documentation/block/stat.rst of Linux."""


def device_flushes(directory: Path) -> int | None:
    """Since the system began; None where the disk below a directory has no cache that is flushed,
    or does not count (only Linux does, and there no volume made of others), or nothing can be
    written there, so that nobody knows."""
    statistics = _statistics(directory)
    return _flushes(statistics) if _counts(statistics, directory) else None


@cache
def _counts(statistics: Path, directory: Path) -> bool:
    """Whether a write that is synced is counted."""
    before = _flushes(statistics)
    if before is None:
        return False
    try:
        with TemporaryFile(dir=directory) as file:
            file.write(b"flushed")
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        return False
    return _flushes(statistics) != before


def _statistics(directory: Path) -> Path:
    """Of the whole disk: a partition's don't count flushes."""
    device = directory.stat().st_dev
    here = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    return (here.parent if (here / "partition").exists() else here) / "stat"


def _flushes(statistics: Path) -> int | None:
    try:
        fields = statistics.read_text("ascii").split()
    except OSError:
        return None
    return int(fields[_FLUSHES]) if len(fields) > _FLUSHES else None
