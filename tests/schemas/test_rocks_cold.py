"""RocksDB's tables when they are not in memory: what a read takes from the disk, and how often it
waits."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from cdb.bench.page_cache import drop, resident_bytes
from cdb.contract.coins import NAME_BYTES, bytes32
from cdb.process.meter import database_files
from cdb.schemas import find_schema
from cdb.stores.coin_set.schema import CoinSetSchema
from tests.schemas.test_coin_log_cold import BLOCKS, made_block

SCHEMA = find_schema("interval@rocksdb")
pytestmark = pytest.mark.skipif(SCHEMA.missing is not None, reason=str(SCHEMA.missing))

LOOKUPS = 10
MOST_PAGES = 16
"""Of one look-up: blocks of two tables, their filters and parts of their indexes. Read-ahead of 128
KB takes 32 around each."""
PAGES_A_WAIT = 8


@pytest.fixture
def loaded(disk_path: Path) -> tuple[Path, list[bytes]]:
    """A settled database on a disk, and names in it."""
    path, random, names = disk_path / "database", Random(1), list[bytes]()
    with SCHEMA.open(path) as schema:
        assert isinstance(schema, CoinSetSchema)
        for index in range(BLOCKS):
            block = made_block(index, random)
            names.append(bytes(block.names[:NAME_BYTES]))
            schema.accept_packed(block)
        schema.settle()
    return path, names


@contextmanager
def opened_cold(path: Path) -> Iterator[CoinSetSchema]:
    """With nothing in memory but what opening takes."""
    files = database_files(path)
    drop(files)
    with SCHEMA.open(path, read_only=True) as schema:
        drop(files)
        size_bytes = sum(file.stat().st_size for file in files)
        left = resident_bytes(files)
        if left is None or left > size_bytes // 10:
            pytest.skip("here pages can't be dropped, or nobody can tell")
        assert isinstance(schema, CoinSetSchema)
        yield schema


def test_a_look_up_reads_what_it_needs_and_nothing_around(loaded: tuple[Path, list[bytes]]) -> None:
    path, names = loaded
    for name in names[:LOOKUPS]:
        with opened_cold(path) as schema:
            before = resident_bytes(database_files(path)) or 0
            assert len(schema.coin_infos_for_coin_names([bytes32(name)])) == 1
            after = resident_bytes(database_files(path)) or 0
        assert 0 < after - before <= MOST_PAGES * resource.getpagesize()


def test_a_whole_state_is_asked_for_ahead(loaded: tuple[Path, list[bytes]]) -> None:
    path, _ = loaded
    with opened_cold(path) as schema:
        resident = resident_bytes(database_files(path)) or 0
        waits = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        assert sum(1 for _ in schema.state_at(BLOCKS)) == BLOCKS * 2_000
        waits = resource.getrusage(resource.RUSAGE_SELF).ru_majflt - waits
        read = (resident_bytes(database_files(path)) or 0) - resident
    pages = read // resource.getpagesize()
    assert pages > 500
    assert waits <= pages // PAGES_A_WAIT
