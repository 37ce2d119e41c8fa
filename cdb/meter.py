"""Measures a load from inside its process."""

import time
from pathlib import Path


class Meter:
    """Measures one load: wall seconds, and bytes that this process handed to write calls."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._start_bytes = _process_bytes_written()

    def seconds(self) -> float:
        """Since the meter was made."""
        return time.perf_counter() - self._start

    def bytes_written(self) -> int | None:
        """Since the meter was made; None where the system doesn't count them (only Linux does)."""
        now = _process_bytes_written()
        return None if now is None or self._start_bytes is None else now - self._start_bytes


def size_bytes(path: Path) -> int:
    """The apparent size of a database: of one file and those beside it, or of a directory."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return sum(file.stat().st_size for file in path.parent.glob(path.name + "*"))


def _process_bytes_written() -> int | None:
    counters = Path("/proc/self/io")
    if not counters.exists():
        return None
    fields = dict(line.split(": ") for line in counters.read_text("ascii").splitlines())
    return int(fields["wchar"])
