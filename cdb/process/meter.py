"""Measures from inside a process what it takes."""

import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

_SUFFIXES = ("", "-wal", "-shm", "-journal", ".lock")
_READ, _WRITTEN, _FLUSHES = 2, 6, 15
"""Where these are among the numbers of a disk, see Documentation/block/stat.rst of Linux."""


class Meter:
    """Measures this process from when the meter was made, and the disk that a directory is on.

    Bytes are None where the system doesn't count them (only Linux does). The disk's are those of
    all processes.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._start_disk = _disk_counters(directory)
        self._start_bytes = _io_counters()
        self._start_usage = resource.getrusage(resource.RUSAGE_SELF)
        self._start = time.perf_counter()

    def seconds(self) -> float:
        """By the clock on the wall."""
        return time.perf_counter() - self._start

    def cpu_seconds(self) -> float:
        """User and system time of all threads."""
        return self.user_seconds() + self.system_seconds()

    def user_seconds(self) -> float:
        """Time of all threads in their own code."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_utime - self._start_usage.ru_utime

    def system_seconds(self) -> float:
        """Time of all threads in the kernel."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_stime - self._start_usage.ru_stime

    def bytes_written(self) -> int | None:
        """What was handed to write calls."""
        return self._bytes_since("wchar")

    def bytes_fetched(self) -> int | None:
        """What had to come from the disk, by read calls, mappings and read-ahead."""
        return self._bytes_since("read_bytes")

    def bytes_dirtied(self) -> int | None:
        """What will have to go to the disk: whole pages, each time that one becomes dirty."""
        return self._bytes_since("write_bytes")

    def disk_bytes_read(self) -> int | None:
        """What the disk was asked for."""
        return self._disk_since("read")

    def disk_bytes_written(self) -> int | None:
        """What the disk was given."""
        return self._disk_since("written")

    def disk_flushes(self) -> int | None:
        """How often the disk has flushed its cache: what durable means at the end.

        None, too, where it has no cache that is flushed, or doesn't count.
        """
        flushes = self._disk_since("flushes")
        if flushes == 0 and not _flushes_are_counted(self._directory):
            return None
        return flushes

    def _bytes_since(self, counter: str) -> int | None:
        return _difference(_io_counters(), self._start_bytes, counter)

    def _disk_since(self, counter: str) -> int | None:
        return _difference(_disk_counters(self._directory), self._start_disk, counter)


def peak_rss_bytes() -> int | None:
    """The most memory that this process has had resident so far; None where it isn't known.

    (ru_maxrss won't do: it begins with what the parent process had.)
    """
    return _memory()["VmHWM"] if Path("/proc/self/status").exists() else None


class PeakMemory:
    """How much more memory this process takes, at the worst, from when this was made.

    Pages of files are not counted, which the system takes back when it needs them.
    """

    def __init__(self) -> None:
        self._start = None if _reset_peak() is None else _memory()

    def bytes_more(self) -> int | None:
        """So far; None where the system doesn't tell."""
        if self._start is None:
            return None
        start, now = self._start, _memory()
        of_files = now["RssFile"] - start["RssFile"]
        return max(now["VmHWM"] - start["VmRSS"] - of_files, 0)


def _reset_peak() -> int | None:
    """None where the system can't."""
    try:
        return Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return None


def _memory() -> dict[str, int]:
    """What /proc tells of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    fields = dict(line.split(":", 1) for line in lines if line.endswith(" kB"))
    return {name: int(text.removesuffix("kB")) * 1024 for name, text in fields.items()}


def size_bytes(path: Path) -> int:
    """The apparent size of a database: of one file and those beside it, or of a directory."""
    return sum(status.st_size for status in _statuses(path))


def allocated_bytes(path: Path) -> int:
    """What the same files take on the disk: less where they have holes, more where preallocated."""
    return sum(status.st_blocks * 512 for status in _statuses(path))


def database_files(path: Path) -> list[Path]:
    """The files of a database: one file and those beside it, or all in a directory."""
    path = path.resolve()
    if path.is_dir():
        files = list(path.rglob("*"))
    else:
        files = [path.with_name(path.name + suffix) for suffix in _SUFFIXES]
    return [file for file in files if file.is_file()]


def _statuses(path: Path) -> Iterator[os.stat_result]:
    """Of each file of a database. A merge in another thread may remove one meanwhile."""
    for file in database_files(path):
        with suppress(FileNotFoundError):
            yield file.stat()


def _io_counters() -> dict[str, int]:
    counters = Path("/proc/self/io")
    if not counters.exists():
        return {}
    lines = (line.split(": ") for line in counters.read_text("ascii").splitlines())
    return {name: int(value) for name, value in lines}


def _disk_counters(directory: Path | None) -> dict[str, int]:
    if directory is None:
        return {}
    device = directory.stat().st_dev
    counters = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat")
    if not counters.exists():
        return {}
    fields = counters.read_text("ascii").split()
    told = {"read": int(fields[_READ]) * 512, "written": int(fields[_WRITTEN]) * 512}
    disk = counters.resolve().parent
    if (disk / "partition").exists():  # it doesn't count them
        fields = (disk.parent / "stat").read_text("ascii").split()
    return told | ({"flushes": int(fields[_FLUSHES])} if len(fields) > _FLUSHES else {})


def _flushes_are_counted(directory: Path | None) -> bool:
    """Whether a write there that is synced is; some volumes made of others don't count."""
    meter = Meter(directory)
    try:
        with TemporaryFile(dir=directory) as file:
            file.write(b"flushed")
            file.flush()
            os.fdatasync(file.fileno())
    except OSError:
        return False
    return bool(meter._disk_since("flushes"))


def _difference(now: dict[str, int], start: dict[str, int], counter: str) -> int | None:
    return now[counter] - start[counter] if counter in now and counter in start else None
