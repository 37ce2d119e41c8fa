"""How fast a directory's disk is, as far as a few seconds tell."""

import mmap
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cdb.lab.latencies import Latencies, latencies
from cdb.lab.process import NotMeasuredError

FILE_BYTES = 16 << 20
CHUNK_BYTES = 1 << 20
PAGE_BYTES = 4096
APPENDS = 100
AT_LEAST_SECONDS = 1.0

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


@dataclass(frozen=True, slots=True)
class DiskSpeed:
    """Of buffered writes in order, synced every 16 MiB; of direct reads in order; and of direct
    reads of 4 KiB at random, one at a time.
    """

    read_bytes_per_second: float
    write_bytes_per_second: float
    iops: float


def disk_speed(directory: str) -> DiskSpeed:
    """Measure it all. Raises NotMeasuredError where the file system has no direct reads."""
    with TemporaryDirectory(dir=directory) as home:
        path = Path(home, "file")
        written = _write_speed(path)
        flags = os.O_RDONLY | getattr(os, "O_DIRECT", 0)
        try:
            file = os.open(path, flags)
        except OSError as error:
            raise NotMeasuredError(f"{directory}: no direct reads: {error.strerror}") from error
        try:
            return DiskSpeed(
                read_bytes_per_second=FILE_BYTES * _rate(lambda: _read_all(file)),
                write_bytes_per_second=written,
                iops=_rate(lambda: _read_some(file)),
            )
        finally:
            os.close(file)


def write_bytes_per_second(directory: Path) -> float:
    """Of buffered writes in order, synced every 16 MiB; it takes a second or two."""
    with TemporaryDirectory(dir=directory) as home:
        return _write_speed(Path(home, "file"))


def sync_latencies(directory: Path) -> Latencies:
    """Of appending 4 KiB and fdatasync, up to 100 times, for about a second at most."""
    page, seconds = os.urandom(PAGE_BYTES), list[float]()
    with TemporaryDirectory(dir=directory) as home, Path(home, "file").open("wb", 0) as stream:
        while len(seconds) < APPENDS and sum(seconds) < AT_LEAST_SECONDS:
            start = time.perf_counter()
            stream.write(page)
            _sync(stream.fileno())
            seconds.append(time.perf_counter() - start)
    return latencies(seconds)


def _write_speed(path: Path) -> float:
    chunk = os.urandom(CHUNK_BYTES)
    with path.open("wb", buffering=0) as stream:

        def write_all() -> None:
            stream.seek(0)
            for _ in range(FILE_BYTES // CHUNK_BYTES):
                stream.write(chunk)
            _sync(stream.fileno())

        return FILE_BYTES * _rate(write_all)


def _read_all(file: int) -> None:
    with mmap.mmap(-1, CHUNK_BYTES) as aligned:
        for offset in range(0, FILE_BYTES, CHUNK_BYTES):
            os.preadv(file, [aligned], offset)


def _read_some(file: int) -> None:
    with mmap.mmap(-1, PAGE_BYTES) as aligned:
        page = random.randrange(FILE_BYTES // PAGE_BYTES)  # noqa: S311 - no secret
        os.preadv(file, [aligned], page * PAGE_BYTES)


def _rate(action: Callable[[], None]) -> float:
    """How often a second it can be done, from doing it for a second."""
    start, done, seconds = time.perf_counter(), 0, 0.0
    while seconds < AT_LEAST_SECONDS:
        action()
        done += 1
        seconds = time.perf_counter() - start
    return done / seconds
