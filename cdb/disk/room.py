"""Whether a disk has room for what is about to be written."""

import shutil
from pathlib import Path

from cdb.errors import StorageError, storage_errors

SPARE_BYTES = 16 << 20
"""What a work needs beyond its data: directories, locks, a database's own pages."""


def free_bytes_at(directory: Path) -> int:
    """The free space of the disk that a directory is on."""
    with storage_errors(directory):
        return shutil.disk_usage(directory).free


def check_room(directory: Path, what: str, needed_bytes: int) -> None:
    """Raise StorageError, which says how much `what` takes, where a directory's disk has less."""
    free_bytes = free_bytes_at(directory)
    if free_bytes < needed_bytes:
        needed, free = (f"{n / 1e6:,.0f} MB" for n in (needed_bytes, free_bytes))
        problem = f"{what} takes up to {needed} here, and {free} are free"
        raise StorageError(directory, f"{problem}; free some space")
