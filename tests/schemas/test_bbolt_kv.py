"""bbolt_kv: what bbolt, in a library of Go, is to the contract."""

from functools import partial
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.contract.durability import Durability
from cdb.errors import DatabaseClosedError, StorageError, UnsupportedError
from cdb.schemas import open_schema
from cdb.schemas.bbolt_kv import KIND
from cdb.stores.coin_set.schema import CoinSetSchema
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, sample_chain
from tests.conftest import largest_file

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)
opened = partial(CoinSetSchema, KIND)
SMALL = partial(opened, commit_entries=40, ingest_entries=15)
CHAIN = sample_chain(30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


class TestReaders:
    """Each sees what was there when it was opened, as long as it is open."""

    def test_beside_the_writer(self, path: Path) -> None:
        with SMALL(path) as writer:
            accept_all(writer, CHAIN.blocks[:20])
            writer.flush()
            with opened(path, read_only=True) as reader:
                accept_all(writer, CHAIN.blocks[20:])
                writer.rewind_to_block_index(CHAIN.blocks[3].index)
                for index in range(1_000, 1_010):  # enough to use every free page again
                    writer.accept_block(block_at(index, coins=200))
                    writer.flush()
                assert verify(reader) == expected_state(CHAIN.blocks[:20])

    def test_of_a_writer_that_is_gone(self, path: Path) -> None:
        """The next one does not know what it sees, and tells it so."""
        with SMALL(path) as writer:
            accept_all(writer, CHAIN.blocks[:10])
            writer.flush()
            reader = opened(path, read_only=True)
            accept_all(writer, CHAIN.blocks[10:20])
            writer.flush()
        assert verify(reader) == expected_state(CHAIN.blocks[:10])
        with opened(path) as writer:
            accept_all(writer, CHAIN.blocks[20:])
            writer.flush()
            with pytest.raises(DatabaseClosedError, match="does not keep what it shows"):
                verify(reader)


def test_it_offers_no_level_below_power(path: Path) -> None:
    with pytest.raises(UnsupportedError, match="no durability 'process'; it offers power"):
        open_schema("bbolt_kv", path, durability=Durability.PROCESS)


def test_a_write_that_fails_leaves_what_was_flushed(path: Path) -> None:
    with SMALL(path) as database:
        accept_all(database, CHAIN.blocks[:5])
        database.flush()
        with largest_file(1 << 20), pytest.raises(StorageError, match="file too large"):
            database.accept_block(block_at(1_000, coins=20_000))
    with SMALL(path) as database:
        assert verify(database) == expected_state(CHAIN.blocks[:5])
