"""badger_kv: what Badger, in a library of Go, is to the contract."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.errors import CorruptDatabaseError, StorageError
from cdb.schemas.badger_kv import KIND
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at
from tests.conftest import fill
from tests.engine_suite import CHAIN, EngineTests, rewrite_all

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

DISK_KIB = 24 << 10


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

    def test_a_merge_on_a_full_disk_loses_nothing(self, disk: Callable[[int], Path]) -> None:
        """Its tables cannot be made, and what they were made of was gone."""
        path = disk(DISK_KIB) / "database"
        for start in range(0, len(CHAIN.blocks), 4):
            with self.small(path) as database:  # whose closing makes a table
                database.settle()  # which merges from the sixth on
                accept_all(database, CHAIN.blocks[start : start + 4])
        with self.small(path) as database:
            fill(path.parent)
            with pytest.raises(StorageError, match=r"the disk is full \(while merging"):
                database.settle()
        disk(2 * DISK_KIB)
        with self.small(path) as database:
            assert verify(database) == expected_state(CHAIN.blocks)

    @pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
    def test_a_damaged_block_is_found_by_each_look_up_and_merge(
        self, path: Path, share: float
    ) -> None:
        """Who met it in an iterator took it for the table's end: coins were absent, or unspent."""
        blocks = [*CHAIN.blocks, block_at(1_000, coins=2_000)]
        names = [coin.name() for block in blocks for coin in block.confirms]
        with self.small(path) as database:
            accept_all(database, blocks)
            database.settle()
            whole = {name: database.coin_infos_for_coin_names([name]) for name in names}
        table = max((path / "db").glob("*.sst"), key=lambda file: file.stat().st_size)
        data = bytearray(table.read_bytes())
        data[int(share * len(data))] ^= 1
        table.write_bytes(data)
        found = 0
        with self.small(path, read_only=True) as database:
            for name in names:
                try:
                    assert database.coin_infos_for_coin_names([name]) == whole[name]
                except CorruptDatabaseError:
                    found += 1
        assert found
        with self.small(path) as database, pytest.raises(CorruptDatabaseError, match=table.name):
            rewrite_all(database)
