"""redb_kv: what redb is to the contract, and its readers."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.contract.blocks import canonical
from cdb.contract.durability import Durability
from cdb.errors import CorruptDatabaseError, DatabaseClosedError, StorageError, UnsupportedError
from cdb.schemas import find_schema
from cdb.schemas.redb_kv import KIND
from cdb.stores.coin_set.schema import CoinSetSchema
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, sample_chain
from tests.conftest import contents, largest_file

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

opened = partial(CoinSetSchema, KIND)
SMALL = partial(opened, commit_entries=40, ingest_entries=15)
CHAIN = sample_chain(30)
MANY = 2_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


def load_and_die(path: Path) -> None:
    """In another process, which does not close what it has flushed."""
    code = f"""
import os, sys
sys.path[:0] = [{str(Path(__file__).parents[2])!r}]
from tests.schemas.test_redb_kv import CHAIN, SMALL, accept_all
schema = SMALL({str(path)!r})
accept_all(schema, CHAIN.blocks)
schema.flush()
os._exit(9)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9


class TestReaders:
    def test_what_a_killed_writer_has_left_is_read_and_not_changed(self, path: Path) -> None:
        load_and_die(path)
        before = contents(path)
        with opened(path, read_only=True) as reader:
            assert verify(reader) == expected_state(CHAIN.blocks)
            assert contents(path) == before
            with SMALL(path) as writer:
                writer.rewind_to_block_index(CHAIN.blocks[3].index)
                for index in range(1_000, 1_010):  # enough to use every free page again
                    writer.accept_block(block_at(index, coins=200))
                    writer.flush()
                assert verify(reader) == expected_state(CHAIN.blocks)
            assert verify(reader) == expected_state(CHAIN.blocks)

    def test_pages_are_used_again_when_nobody_reads_any_more(self, path: Path) -> None:
        def rewrite(writer: CoinSetSchema) -> int:
            for index in range(100, 110):
                writer.accept_block(block_at(index, coins=MANY))
                writer.flush()
            writer.rewind_to_block_index(99)
            return (path / "db/data.redb").stat().st_size

        with SMALL(path) as writer:
            accept_all(writer, CHAIN.blocks[:3])
            rewrite(writer)
            before = rewrite(writer)
            with opened(path, read_only=True):
                held = rewrite(writer)
            assert held > 1.3 * before
            rewrite(writer)
            assert rewrite(writer) < 1.2 * held

    def test_an_iteration_sees_its_moment(self, path: Path) -> None:
        with SMALL(path) as schema:
            accept_all(schema, CHAIN.blocks)
            schema.flush()
            blocks = schema.blocks()
            schema.rewind_to_block_index(CHAIN.blocks[2].index)
            for index in range(1_000, 1_005):
                schema.accept_block(block_at(index, coins=MANY))
                schema.flush()
            assert list(blocks) == [canonical(block) for block in CHAIN.blocks]


def test_a_making_that_was_cut_short_is_made_again(path: Path) -> None:
    with opened(path):
        pass
    (path / "NEWEST").unlink()
    (path / "db/data.redb").rename(path / "db/unfinished.redb")
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks)
    with SMALL(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)


@pytest.mark.parametrize("read_only", [True, False])
def test_an_empty_file_is_no_new_database(path: Path, read_only: bool) -> None:
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks[:3])
    data = path / "db/data.redb"
    os.truncate(data, 0)
    with pytest.raises(CorruptDatabaseError, match=r"data\.redb: it is cut"):
        SMALL(path, read_only=read_only)
    assert data.stat().st_size == 0


def test_a_file_that_may_not_grow_is_a_storage_error(path: Path) -> None:
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks)
        schema.flush()
        size = (path / "db/data.redb").stat().st_size
        with largest_file(size), pytest.raises(StorageError, match=r"data\.redb: "):
            schema.accept_block(block_at(1_000, coins=MANY))
        with pytest.raises(DatabaseClosedError):
            schema.flush()
    with SMALL(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)


@pytest.mark.parametrize("level", [Durability.PROCESS, Durability.NONE])
def test_other_levels_are_refused(path: Path, level: Durability) -> None:
    with pytest.raises(UnsupportedError, match="it offers power"):
        find_schema("interval@redb").open(path, durability=level)
