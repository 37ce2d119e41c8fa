"""Runs: sorted pages of records, and how a name is found in them.

    record  name (32 bytes), row id (8 bytes, little-endian)
    page    one or more records, one after the other, sorted by name

Names are uniform SHA-256 digests, so the place of a name is nearly proportional to its value: the
first guess is a few pages off, the second one is nearly always right. Crafted names are not
uniform, so after INTERPOLATIONS guesses bisection takes over: any name costs O(log pages).
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, compress, islice, repeat
from pathlib import Path
from typing import Protocol

from cdb.coins import NAME_BYTES
from cdb.engines.filter import Filter
from cdb.engines.manifest import RunEntry, damaged

RECORD = struct.Struct("<32sQ")
RECORD_BYTES = RECORD.size
_ROW = struct.Struct("<Q")
INTERPOLATIONS = 4
_KEY_BYTES = 8  # as much of a name as interpolation looks at
_KEY_END = 1 << 8 * _KEY_BYTES


class Run(Protocol):
    """A sealed run, open for reading: pages 0 … pages-1 of records, and their filter.

    Deleting its file leaves it readable.
    """

    path: Path
    pages: int
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
    row = find_row(name, run.pages, run.read_page)
    if row is None or entry.first_row <= row <= entry.last_row:
        return row
    _check_rows((row,), entry, run)
    return None


def live_records(entry: RunEntry, run: Run) -> Iterator[bytes]:
    """All records of the run but the rewound ones."""
    return chain.from_iterable(_live_pages(entry, run))


def _live_pages(entry: RunEntry, run: Run) -> Iterator[Iterable[bytes]]:
    for page in map(run.read_page, range(run.pages)):
        rows = row_ids(page)
        _check_rows(rows, entry, run)
        rewound = entry.last_row < entry.file_last_row
        live = [row <= entry.last_row for row in rows] if rewound else repeat(True)
        yield compress(records(page), live)


def _check_rows(rows: Sequence[int], entry: RunEntry, run: Run) -> None:
    if min(rows) < entry.first_row or max(rows) > entry.file_last_row:
        raise damaged(run.path, "it holds a row that belongs to another run")


def find_row(name: bytes, pages: int, read_page: Callable[[int], bytes]) -> int | None:
    """The row id of name in pages 0 … pages-1, None where it is absent.

    Reads at most INTERPOLATIONS + log2(pages) + 1 pages.
    """
    key = int.from_bytes(name[:_KEY_BYTES], "big")
    low, high = 0, pages  # the name is in one of the pages low … high-1, if at all
    low_key, high_key = 0, _KEY_END  # and these are the keys at their ends
    probes = 0
    while low < high:
        if probes < INTERPOLATIONS and low_key < high_key:
            guess = low + (high - low) * (key - low_key) // (high_key - low_key)
            guess = min(guess, high - 1)
        else:
            guess = (low + high) // 2
        page = read_page(guess)
        probes += 1
        last = len(page) - RECORD_BYTES
        if name < page[:NAME_BYTES]:
            high, high_key = guess, int.from_bytes(page[:_KEY_BYTES], "big")
        elif name > page[last : last + NAME_BYTES]:
            low, low_key = guess + 1, int.from_bytes(page[last : last + _KEY_BYTES], "big")
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
