"""Measures from inside a process what it takes."""

import resource
import time
from pathlib import Path


class Meter:
    """Measures this process from when the meter was made.

    Bytes are None where the system doesn't count them (only Linux does).
    """

    def __init__(self) -> None:
        self._start_bytes = _io_counters()
        self._start_cpu = _cpu_seconds()
        self._start = time.perf_counter()

    def seconds(self) -> float:
        """By the clock on the wall."""
        return time.perf_counter() - self._start

    def cpu_seconds(self) -> float:
        """User and system time of all threads."""
        return _cpu_seconds() - self._start_cpu

    def bytes_written(self) -> int | None:
        """What was handed to write calls."""
        return self._bytes_since("wchar")

    def bytes_fetched(self) -> int | None:
        """What had to come from the disk, by read calls, mappings and read-ahead."""
        return self._bytes_since("read_bytes")

    def _bytes_since(self, counter: str) -> int | None:
        now, start = _io_counters().get(counter), self._start_bytes.get(counter)
        return None if now is None or start is None else now - start


def peak_rss_bytes() -> int | None:
    """The most memory that this process has had resident so far; None where it isn't known.

    (ru_maxrss won't do: it begins with what the parent process had.)
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    fields = dict(line.split(":", 1) for line in status.read_text("ascii").splitlines())
    return int(fields["VmHWM"].removesuffix("kB")) * 1024


def size_bytes(path: Path) -> int:
    """The apparent size of a database: of one file and those beside it, or of a directory."""
    return sum(file.stat().st_size for file in database_files(path))


def database_files(path: Path) -> list[Path]:
    """The files of a database: one file and those beside it, or all in a directory."""
    files = path.rglob("*") if path.is_dir() else path.parent.glob(path.name + "*")
    return [file for file in files if file.is_file()]


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _io_counters() -> dict[str, int]:
    counters = Path("/proc/self/io")
    if not counters.exists():
        return {}
    lines = (line.split(": ") for line in counters.read_text("ascii").splitlines())
    return {name: int(value) for name, value in lines}
