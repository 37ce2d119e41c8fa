"""badger_kv: what Badger, in a library of Go, is to the contract."""

from functools import partial
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.errors import CorruptDatabaseError, StorageError
from cdb.schemas.badger_kv import KIND
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


def test_a_reader_sees_one_moment(path: Path) -> None:
    with SMALL(path) as writer:
        accept_all(writer, CHAIN.blocks[:20])
        writer.flush()
        with opened(path, read_only=True) as reader:
            accept_all(writer, CHAIN.blocks[20:])
            writer.settle()
            assert verify(reader) == expected_state(CHAIN.blocks[:20])


def test_a_commit_larger_than_a_transaction_is_whole(path: Path) -> None:
    """It is written to redo first, which is gone when it is done."""
    blocks = [*CHAIN.blocks, block_at(1_000, coins=60_000)]
    with opened(path) as database:
        accept_all(database, blocks)
    assert not (path / "db/redo").exists()
    with opened(path, read_only=True) as database:
        assert verify(database) == expected_state(blocks)


def test_a_damaged_redo_is_found(path: Path) -> None:
    with SMALL(path) as database:
        accept_all(database, CHAIN.blocks)
    (path / "db/redo").write_bytes(bytes(100))
    with pytest.raises(CorruptDatabaseError, match="redo: it does not match its checksum"):
        SMALL(path)


def test_a_write_that_fails_is_an_error(path: Path) -> None:
    """Badger writes by mapping files, where a disk that is full would end the process."""
    with SMALL(path) as database:
        accept_all(database, CHAIN.blocks[:5])
        database.flush()
        with largest_file(1 << 10), pytest.raises(StorageError, match="file too large"):
            database.accept_block(block_at(1_000, coins=60_000))
    with SMALL(path) as database:
        database.rewind_to_block_index(CHAIN.blocks[4].index)
        assert verify(database) == expected_state(CHAIN.blocks[:5])
