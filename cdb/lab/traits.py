"""What a directory's disk and this system give a store, and what they keep from it."""

import fcntl
import mmap
import os
import resource
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cdb.engines import ENGINES
from cdb.lab.disk_speed import sync_latencies
from cdb.process.children import output_of

_WRITE_MAPS = " and ".join(each.library for each in ENGINES.values() if each.writes_maps)
_IN_MEMORY = ("tmpfs", "ramfs")
_LEAST_FILES = 256
"""Open files: a database of RocksDB's keeps its tables open, and SQLite three files each."""
_LEAST_SYNC_MICROSECONDS = 5.0
"""No disk has written 4 KiB so soon."""


@dataclass(frozen=True, slots=True)
class Traits:
    """Of a directory. file_system: None where it isn't known; fdatasync: the median of appends of
    4 KiB; problems: a line for each thing that keeps a store from working, or from its promises.
    """

    file_system: str | None
    free_bytes: int
    fdatasync_microseconds: float
    maps_files: bool
    locks_files: bool
    open_files: int
    problems: tuple[str, ...]


def traits(directory: Path) -> Traits:
    """Try them, for about a second. Raises OSError where nothing can be written there."""
    about, usage = _file_system(directory), os.statvfs(directory)
    sync = sync_latencies(directory).p50_microseconds
    with TemporaryDirectory(dir=directory) as home:
        path = Path(home, "file")
        path.write_bytes(bytes(mmap.PAGESIZE))
        maps, locks = _maps(path), _locks(path)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    said = (
        (about in _IN_MEMORY, f"{about} is memory: nothing there survives power loss"),
        (
            about not in _IN_MEMORY and sync < _LEAST_SYNC_MICROSECONDS,
            "a sync returns before any disk can have written: power loss may take what was flushed",
        ),
        (not maps, f"files can't be mapped to be written: stores in {_WRITE_MAPS} don't open here"),
        (not locks, "files can't be locked: no schema opens here for writing"),
        (files < _LEAST_FILES, f"only {files} files may be open at once: raise 'ulimit -n'"),
    )
    problems = tuple(text for is_so, text in said if is_so)
    return Traits(about, usage.f_bavail * usage.f_frsize, sync, maps, locks, files, problems)


def _file_system(directory: Path) -> str | None:
    """Its name, as GNU's stat has it."""
    return output_of("stat", "--file-system", "--format=%T", "--", str(directory.resolve()))


def _maps(path: Path) -> bool:
    try:
        with path.open("r+b") as stream, mmap.mmap(stream.fileno(), 0) as mapped:
            mapped[0] = 1
            mapped.flush()
    except OSError:
        return False
    return path.read_bytes()[0] == 1


def _locks(path: Path) -> bool:
    with path.open("r+b") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
    return True
