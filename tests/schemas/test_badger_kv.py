"""badger_kv: what Badger, in a library of Go, is to the contract."""

from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.errors import CorruptDatabaseError
from cdb.schemas.badger_kv import KIND
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at
from tests.engine_suite import CHAIN, EngineTests

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)


class TestBadger(EngineTests):
    """Badger writes by mapping files, where a disk that is full would end the process."""

    kind = KIND
    schema = "badger_kv"
    largest_bytes = 1 << 10

    def test_a_commit_larger_than_a_transaction_is_whole(self, path: Path) -> None:
        """It is written to redo first, which is gone when it is done."""
        blocks = [*CHAIN.blocks, block_at(1_000, coins=60_000)]
        with self.opened(path) as database:
            accept_all(database, blocks)
        assert not (path / "db/redo").exists()
        with self.opened(path, read_only=True) as database:
            assert verify(database) == expected_state(blocks)

    def test_a_damaged_redo_is_found(self, path: Path) -> None:
        with self.small(path) as database:
            accept_all(database, CHAIN.blocks)
        (path / "db/redo").write_bytes(bytes(100))
        with pytest.raises(CorruptDatabaseError, match="redo: it does not match its checksum"):
            self.small(path)
