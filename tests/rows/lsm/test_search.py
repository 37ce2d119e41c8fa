"""The search: right for any names, with one probe for uniform ones."""

import hashlib
import math
from bisect import bisect_left
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdb.stores.rows.lsm import search
from cdb.stores.rows.lsm.search import (
    RECORD,
    RECORD_BYTES,
    find_row,
    first_key,
    merged,
    paged,
    records,
)


class Pages:
    """Pages in memory that count how often they are read."""

    def __init__(self, names: list[bytes], page_records: int) -> None:
        self.names = sorted(names)
        all_records = [RECORD.pack(name, row) for row, name in enumerate(self.names, 1)]
        self.pages = list(paged(all_records, page_records))
        self.first_keys = [first_key(page) for page in self.pages]
        self.probes = 0

    def read_page(self, number: int) -> bytes:
        self.probes += 1
        return self.pages[number]

    def find(self, name: bytes) -> int | None:
        """The row, checked against the sorted names, and the probes against their limit."""
        self.probes = 0
        row = find_row(name, self.first_keys, self.read_page)
        place = bisect_left(self.names, name)
        present = place < len(self.names) and self.names[place] == name
        assert row == (place + 1 if present else None)
        assert self.probes <= math.log2(len(self.pages) or 1) + 1
        return row


def digest(number: int) -> bytes:
    return hashlib.sha256(number.to_bytes(8, "big")).digest()


@st.composite
def any_names(draw: st.DrawFn) -> list[bytes]:
    """Names of which some share long prefixes, and some are extreme."""
    prefixes = st.integers(0, 31).map(lambda length: digest(0)[:length])
    tails = st.binary(min_size=32, max_size=32)
    crafted = st.builds(lambda prefix, tail: (prefix + tail)[:32], prefixes, tails)
    extreme = st.sampled_from([bytes(32), b"\xff" * 32, bytes(31) + b"\1"])
    return draw(st.lists(crafted | extreme | tails, min_size=2, max_size=300, unique=True))


@settings(deadline=None)
@given(any_names(), st.integers(1, 5))
def test_any_names_are_found_within_the_probe_limit(names: list[bytes], page_records: int) -> None:
    present, absent = names[::2], names[1::2]
    pages = Pages(present, page_records)
    for name in present:
        assert pages.find(name) is not None
    for name in absent:
        assert pages.find(name) is None


@pytest.mark.parametrize("prefix", [8, 16, 29, 31])
def test_shared_prefixes_cost_the_logarithm(prefix: int) -> None:
    count = 256 if prefix == 31 else 20_000
    numbers = [number.to_bytes(32 - prefix, "big") for number in range(count)]
    pages = Pages([bytes(prefix) + number for number in numbers], page_records=2)
    for name in pages.names[::7]:
        pages.find(name)


def test_uniform_names_take_one_probe() -> None:
    pages = Pages([digest(number) for number in range(100_000)], page_records=102)
    for number in range(0, 110_000, 20):
        pages.find(digest(number))
        assert pages.probes == 1


def test_no_pages() -> None:
    assert find_row(digest(1), [], Pages([], 1).read_page) is None


def test_name_that_straddles_records_is_not_mistaken() -> None:
    """These bytes occur in the page, but not where a name starts."""
    pages = Pages([b"\1" * 32, b"\2" * 32, b"\2" * 31 + b"\3", b"\3" * 32], page_records=102)
    (page,) = pages.pages
    for start in range(len(page) - 32):
        if start % RECORD_BYTES:
            pages.find(page[start : start + 32])
    for name in pages.names:
        assert pages.find(name) is not None


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(1, 10))
def test_paged_fills_every_page_but_the_last(count: int, page_records: int) -> None:
    whole = [RECORD.pack(digest(row), row) for row in range(count)]
    pages = list(paged(whole, page_records))
    assert [record for page in pages for record in records(page)] == whole
    assert all(len(page) == page_records * RECORD_BYTES for page in pages[:-1])
    assert all(pages)


@settings(deadline=None)
@given(st.lists(any_names(), max_size=5), st.integers(1, 7), st.integers(1, 20))
def test_merged_is_sorted_and_complete(
    names: list[list[bytes]], page_records: int, merge_records: int
) -> None:
    whole = [RECORD.pack(name, row) for row, name in enumerate(set(chain.from_iterable(names)))]
    parts = [sorted(whole[first :: len(names)]) for first in range(len(names))]
    sources = [
        iter([part[at : at + page_records] for at in range(0, len(part), page_records)])
        for part in parts
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_MERGE_RECORDS", merge_records)
        assert list(merged(sources)) == sorted(whole)
