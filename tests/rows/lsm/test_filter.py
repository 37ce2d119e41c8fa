"""The filter never denies a name that is there, and passes few that are not."""

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cdb.stores.rows.lsm.filter import BYTES_PER_ENTRY, Filter, FilterBuilder, probes
from cdb.stores.rows.lsm.search import RECORD

names = st.binary(min_size=32, max_size=32)


def built(page_names: list[bytes]) -> Filter:
    builder = FilterBuilder(len(page_names))
    builder.add(b"".join(RECORD.pack(name, row) for row, name in enumerate(page_names, 1)))
    return Filter(bytes(builder.bits))


def digest(number: int) -> bytes:
    return hashlib.sha256(number.to_bytes(8, "big")).digest()


@settings(deadline=None)
@given(st.lists(names, min_size=1, unique=True))
def test_every_name_that_is_there_passes(present: list[bytes]) -> None:
    assert built(present).passing(probes(present)) == list(range(len(present)))


@pytest.mark.parametrize("prefix", [0, 8, 16, 31])
def test_crafted_names_pass_too(prefix: int) -> None:
    present = [bytes(prefix) + digest(number)[prefix:] for number in range(100)]
    assert len(built(present).passing(probes(present))) == 100


def test_few_absent_names_pass() -> None:
    bloom = built([digest(number) for number in range(20_000)])
    absent = [digest(number) for number in range(20_000, 70_000)]
    share = len(bloom.passing(probes(absent))) / len(absent)
    assert 0.011 < share < 0.016


def test_size_is_bounded() -> None:
    assert len(FilterBuilder(1000).bits) == 1000 * BYTES_PER_ENTRY


def test_passing_gives_positions_in_order() -> None:
    present = [digest(number) for number in range(1000)]
    mixed = [digest(5), digest(5000), digest(7), digest(5)]
    passing = built(present).passing(probes(mixed))
    assert set(passing) >= {0, 2, 3}
    assert passing == sorted(passing)
    assert built(present).passing([]) == []
