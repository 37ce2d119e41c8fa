"""Monad's chunks: an index entry that holds a coin's place in a file, instead of its block and
position.

Both indexes are files of pages of sorted entries, one page a bucket of names. The log is chunks
that never change once they are full: a copy of them is a link each. An entry of the kind `offset`
leads to the coin's bytes at once; one of the kind `place` through the page of a table of blocks. A
look-up reads whole pages, from files that are not in memory.
"""

import os
import shutil
from array import array
from bisect import bisect_right
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from statistics import median
from struct import Struct
from time import perf_counter
from typing import NamedTuple

from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import CONFIRM_BYTES
from cdb.errors import storage_errors
from cdb.lab.process import WrongAnswerError
from cdb.text.scanner import scan_packed

PAGE_BYTES = 4_096
CHUNK_BYTES = 16 << 20
LOOKUPS, ROUNDS, SEED = 2_000, 5, 1
KEY_BYTES = 6
OFFSET, PLACE = Struct(">6sIH"), Struct(">6sIH")
"""The leading bytes of a name; then chunk and offset in 48 bits, or height and position."""
_BLOCK = Struct(">Q")


class Index:
    """Sorted entries in pages, found by the first name of each, which are in memory."""

    def __init__(self, path: Path, form: Struct, entries: Sequence[bytes]) -> None:
        self.form = form
        each = PAGE_BYTES // form.size
        self._firsts = [entries[at][:KEY_BYTES] for at in range(0, len(entries), each)]
        with path.open("wb") as stream:
            for at in range(0, len(entries), each):
                stream.write(b"".join(entries[at : at + each]).ljust(PAGE_BYTES, b"\0"))
        self._file = os.open(path, os.O_RDONLY)
        self.path = path

    def find(self, name: bytes) -> tuple[int, int]:
        """The two numbers of a name's entry."""
        key = name[:KEY_BYTES]
        page = os.pread(self._file, PAGE_BYTES, (bisect_right(self._firsts, key) - 1) * PAGE_BYTES)
        found = page.find(key)
        while found % self.form.size:
            found = page.find(key, found + 1)
        _, one, two = self.form.unpack_from(page, found)
        return one, two


class Log:
    """Coins of 72 bytes in chunks, and where each block begins, in pages of a table."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.begins = array("Q")
        self._bytes = 0
        self._streams = [self._chunk(0).open("wb")]

    def _chunk(self, number: int) -> Path:
        return self.directory / f"chunk-{number}"

    def add(self, confirms: bytes) -> None:
        """The coins of the next block, which no chunk divides."""
        if self._bytes % CHUNK_BYTES + len(confirms) > CHUNK_BYTES:
            self._bytes += CHUNK_BYTES - self._bytes % CHUNK_BYTES
            self._streams.append(self._chunk(self._bytes // CHUNK_BYTES).open("wb"))
        self.begins.append(self._bytes)
        self._streams[-1].write(confirms)
        self._bytes += len(confirms)

    def finish(self) -> None:
        """Have it read from now on."""
        for stream in self._streams:
            stream.close()
        self.table = self.directory / "blocks"
        self.table.write_bytes(b"".join(map(_BLOCK.pack, self.begins)))
        self.chunks = [self._chunk(n) for n in range(len(self._streams))]
        self._files = [os.open(chunk, os.O_RDONLY) for chunk in self.chunks]
        self._blocks = os.open(self.table, os.O_RDONLY)

    def begin(self, block: int) -> int:
        """Where a block begins, by the table's page."""
        at = block * _BLOCK.size
        page = os.pread(self._blocks, PAGE_BYTES, at // PAGE_BYTES * PAGE_BYTES)
        begin: int = _BLOCK.unpack_from(page, at % PAGE_BYTES)[0]
        return begin

    def coin(self, at: int) -> bytes:
        """The coin at a place of the log."""
        return os.pread(self._files[at // CHUNK_BYTES], CONFIRM_BYTES, at % CHUNK_BYTES)


def _drop(paths: Sequence[Path]) -> None:
    for path in paths:
        file = os.open(path, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def _timed(find: Callable[[bytes], bytes], names: Sequence[bytes], files: Sequence[Path]) -> float:
    """Microseconds a name, with nothing in memory at first."""
    _drop(files)
    begun = perf_counter()
    for name in names:
        find(name)
    return (perf_counter() - begun) / len(names) * 1e6


class Built(NamedTuple):
    """A log, all names in its order, and both indexes of it."""

    log: Log
    names: bytes
    by_place: Index
    by_offset: Index

    def find_place(self, name: bytes) -> bytes:
        """A coin, by the height of its block and its position there."""
        block, position = self.by_place.find(name)
        return self.log.coin(self.log.begin(block) + position * CONFIRM_BYTES)

    def find_offset(self, name: bytes) -> bytes:
        """A coin, by its chunk and offset."""
        high, low = self.by_offset.find(name)
        return self.log.coin(high << 16 | low)

    @property
    def files(self) -> list[Path]:
        """All that look-ups read."""
        return [*self.log.chunks, self.log.table, self.by_place.path, self.by_offset.path]


def build(replay: Path, directory: Path) -> Built:
    """Of a replay, in an empty directory. Raises StorageError or ReplayError."""
    log, names = Log(directory), bytearray()
    places, offsets = list[bytes](), list[bytes]()
    with storage_errors(replay), replay.open("rb") as stream:
        for packed in scan_packed(stream):
            coin = 0
            for end in packed.confirm_ends:
                block = len(log.begins)
                log.add(bytes(packed.confirms[coin * CONFIRM_BYTES : end * CONFIRM_BYTES]))
                for at in range(coin, end):
                    key = bytes(packed.names[at * NAME_BYTES :][:KEY_BYTES])
                    offset = log.begins[block] + (at - coin) * CONFIRM_BYTES
                    places.append(PLACE.pack(key, block, at - coin))
                    offsets.append(OFFSET.pack(key, offset >> 16, offset & 0xFFFF))
                coin = end
            names += packed.names
    log.finish()
    by_place = Index(directory / "places", PLACE, sorted(places))
    by_offset = Index(directory / "offsets", OFFSET, sorted(offsets))
    return Built(log, bytes(names), by_place, by_offset)


def chunks_rows(built: Built) -> list[list[str]]:
    """A line for each kind of entry, below a header: microseconds of a cold look-up."""
    random, n = Random(SEED), len(built.names) // NAME_BYTES  # noqa: S311 - no secret
    ways = {"block and position": built.find_place, "chunk and offset": built.find_offset}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        drawn = [random.randrange(n) * NAME_BYTES for _ in range(LOOKUPS)]
        asked = [built.names[at : at + NAME_BYTES] for at in drawn]
        for name, find in ways.items():
            times[name].append(_timed(find, asked, built.files))
        if any(built.find_place(name) != built.find_offset(name) for name in asked):
            raise WrongAnswerError("the two indexes lead to different coins")
    rows = [["an entry holds", "bytes", "cold, µs: median", "least", "greatest"]]
    for name, taken in times.items():
        told = (median(taken), min(taken), max(taken))
        rows.append([name, f"{PLACE.size}", *(f"{each:.0f}" for each in told)])
    return rows


def copy_seconds(log: Log) -> tuple[float, float]:
    """Of a copy of the log: by a link to each full chunk, and of all bytes."""
    copy = log.directory / "copy"
    copy.mkdir()
    begun = perf_counter()
    for chunk in log.chunks[:-1]:
        (copy / chunk.name).hardlink_to(chunk)
    shutil.copyfile(log.chunks[-1], copy / log.chunks[-1].name)
    linked = perf_counter()
    for chunk in log.chunks:
        shutil.copyfile(chunk, copy / f"{chunk.name}-whole")
    return linked - begun, perf_counter() - linked
