"""Runs: sorted pages of records, and how a name is found in them.

    record  name (32 bytes), row id (8 bytes, little-endian)
    page    one or more records, one after the other, sorted by name

A run's first keys, 8 bytes of each page's first name, are in memory: so a name costs one page.
Names that share those 8 bytes are crafted, and cost O(log pages).
"""

import struct
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice, repeat
from pathlib import Path
from typing import Protocol

from cdb.contract.coins import NAME_BYTES
from cdb.errors import CorruptDatabaseError
from cdb.stores.rows.lsm.filter import Filter
from cdb.stores.rows.lsm.manifest import RunEntry

RECORD = struct.Struct("<32sQ")
RECORD_BYTES = RECORD.size
_ROW = struct.Struct("<Q")
ROW_BYTES = _ROW.size
KEY_BYTES = 8
_MERGE_RECORDS = 4096


class Run(Protocol):
    """A sealed run, open for reading: pages of records, each one's first key, and their filter.

    Deleting its file leaves it readable.
    """

    path: Path
    first_keys: "array[int]"
    filter: Filter

    def read_page(self, number: int) -> bytes:
        """The records of one page. Raises CorruptDatabaseError or StorageError."""
        ...

    def close(self) -> None:
        """Release the file."""
        ...


@dataclass(frozen=True)
class RunFormat:
    """How runs are stored. The name is also the suffix of their files.

    write(path, entry, records) writes a new file of entry.count sorted records, not fsynced.
    open(path, entry) checks that the file is the one that entry describes. It raises
    DatabaseNotFoundError, CorruptDatabaseError, StorageError, WrongDatabaseError (newer version).
    """

    name: str
    write: Callable[[Path, RunEntry, Iterable[bytes]], None]
    open: Callable[[Path, RunEntry], Run]


def live_row(name: bytes, entry: RunEntry, run: Run) -> int | None:
    """The row id of name in the run, None where it is absent or rewound."""
    row = find_row(name, run.first_keys, run.read_page)
    if row is None or entry.first_row <= row <= entry.last_row:
        return row
    _check_rows((row,), entry, run)
    return None


def live_pages(entry: RunEntry, run: Run) -> Iterator[list[bytes]]:
    """All records of the run but the rewound ones, page by page."""
    rewound = entry.last_row < entry.file_last_row
    for page in map(run.read_page, range(len(run.first_keys))):
        rows = row_ids(page)
        _check_rows(rows, entry, run)
        live = [row <= entry.last_row for row in rows] if rewound else repeat(True)
        yield list(compress(records(page), live))


def merged(sources: Iterable[Iterator[list[bytes]]]) -> Iterator[bytes]:
    """The records of all sources, sorted. Each gives sorted lists, one after the other.

    What no source has anything before is sorted at once: lists that are sorted already make that
    a merge, at the speed of C.
    """
    waiting = [(chunk, source) for source in sources if (chunk := _next_chunk(source))]
    while len(waiting) > 1:
        end = min(chunk[-1] for chunk, _ in waiting)
        ready: list[bytes] = []
        rest = []
        for chunk, source in waiting:
            place = bisect_right(chunk, end)
            ready += chunk[:place]
            if place < len(chunk):
                rest.append((chunk[place:], source))
            elif following := _next_chunk(source):
                rest.append((following, source))
        ready.sort()
        yield from ready
        waiting = rest
    for chunk, source in waiting:
        yield from chunk
        yield from chain.from_iterable(source)


def _next_chunk(source: Iterator[list[bytes]]) -> list[bytes]:
    """The next records of a source, _MERGE_RECORDS or more; none at its end."""
    chunk: list[bytes] = []
    while len(chunk) < _MERGE_RECORDS and (page := next(source, None)) is not None:
        chunk += page
    return chunk


def _check_rows(rows: Sequence[int], entry: RunEntry, run: Run) -> None:
    if not rows:
        raise CorruptDatabaseError(run.path, "it has a page without rows")
    if min(rows) < entry.first_row or max(rows) > entry.file_last_row:
        raise CorruptDatabaseError(run.path, "it holds a row that belongs to another run")


def first_key(page: bytes) -> int:
    """The first 8 bytes of a page, or of a name, as a number."""
    return int.from_bytes(page[:KEY_BYTES], "big")


def packed_keys(keys: "array[int]") -> bytes:
    """First keys as they are stored: 8 bytes each, little-endian."""
    return struct.pack(f"<{len(keys)}Q", *keys)


def unpacked_keys(packed: bytes) -> "array[int]":
    """The inverse of packed_keys."""
    return array("Q", struct.unpack(f"<{len(packed) // KEY_BYTES}Q", packed))


def find_row(
    name: bytes, first_keys: Sequence[int], read_page: Callable[[int], bytes]
) -> int | None:
    """The row id of name in the pages that begin with these keys, None where it is absent.

    Reads a page at most for uniform names, and log2(pages) + 1 for any.
    """
    key = first_key(name)
    low = max(bisect_left(first_keys, key) - 1, 0)
    high = bisect_right(first_keys, key)
    while low < high:
        middle = (low + high) // 2
        page = read_page(middle)
        last = len(page) - RECORD_BYTES
        if name < page[:NAME_BYTES]:
            high = middle
        elif name > page[last : last + NAME_BYTES]:
            low = middle + 1
        else:
            return _row_in_page(name, page)
    return None


def _row_in_page(name: bytes, page: bytes) -> int | None:
    start = page.find(name)  # twice as fast as bisect
    while start > 0 and start % RECORD_BYTES:
        start = page.find(name, start + 1)
    return None if start < 0 else int(_ROW.unpack_from(page, start + NAME_BYTES)[0])


def paged(records: Iterable[bytes], page_records: int) -> Iterator[bytes]:
    """The records in pages, all of them full but the last."""
    rest = iter(records)
    while page := b"".join(islice(rest, page_records)):
        yield page


def records(page: bytes) -> tuple[bytes, ...]:
    """The page's records."""
    return struct.unpack(f"{RECORD_BYTES}s" * (len(page) // RECORD_BYTES), page)


def row_ids(page: bytes) -> tuple[int, ...]:
    """The row id of each record."""
    return struct.unpack("<" + f"{NAME_BYTES}xQ" * (len(page) // RECORD_BYTES), page)
