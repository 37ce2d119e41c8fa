"""badger_kv: what Badger, in a library of Go, is to the contract."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.errors import CorruptDatabaseError, StorageError
from cdb.lab.process import KilledError, fresh
from cdb.schemas import find_schema
from cdb.schemas.badger_kv import KIND
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at
from tests.conftest import fill, small_disk
from tests.engine_suite import CHAIN, EngineTests, rewrite_all

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

DISK_KIB = 24 << 10
LARGE_DISK_KIB = 2 << 20
LOGGED_COINS = 17_000
"""In a block; of five the log needs more than a memtable of 4 MiB has room for."""
REDO_KIB = 4 << 10
"""What the redo of 100,000 spends needs, and a little; a log has to grow by more than is left."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A writer of Badger's that has failed holds its files to this process's end."""
    yield from small_disk(tmp_path / "disk", "--lazy")


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

    def test_a_log_of_values_grows_on_a_full_disk(self, disk: Callable[[int], Path]) -> None:
        """It was made longer without the space, and the process ended where that was written to."""
        mounted = disk(LARGE_DISK_KIB)
        coins = block_at(1, coins=100_000)
        spends = sorted(coin.name() for coin in coins.confirms)
        with self.opened(mounted / "database", ingest_entries=1 << 30) as database:
            database.accept_block(coins)
            database.flush()
            disk(shutil.disk_usage(mounted).used // 1024 + REDO_KIB)
            database.accept_block(BlockSpendInfo(2, 0, spends, []))
            with pytest.raises(StorageError, match=r"full \(while truncate file: 000001\.vlog"):
                database.flush()
        disk(LARGE_DISK_KIB)
        with self.opened(mounted / "database") as database:
            assert next(iter(database.blocks())) == canonical(coins)

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

    @pytest.mark.parametrize("read_only", [False, True])
    @pytest.mark.parametrize("kills", [1, 2])
    def test_a_log_of_more_memory_is_opened_with_less(
        self, path: Path, kills: int, read_only: bool
    ) -> None:
        """What a killed process had in memory fits into no smaller memtable. The opening after it
        cuts the log to what it holds, and may be killed, too."""
        blocks = [block_at(index, coins=LOGGED_COINS) for index in range(1, 6)]
        with pytest.raises(KilledError):
            fresh(be_killed, str(path), blocks)
        (log,) = (path / "db").glob("*.mem")
        if kills == 2:
            log.write_bytes(log.read_bytes().rstrip(b"\0"))
        damages = list(KIND.check(path, lambda _: None))
        assert damages == []
        with self.opened(path, cache_mb=8, read_only=read_only) as database:
            assert verify(database) == expected_state(blocks)

    def test_a_length_that_lies_makes_no_long_log(self, path: Path) -> None:
        blocks = [block_at(index, coins=10) for index in range(1, 6)]
        with pytest.raises(KilledError):
            fresh(be_killed, str(path), blocks)
        (log,) = (path / "db").glob("*.mem")
        os.truncate(log, 6 << 30)
        with self.opened(path) as database:
            assert verify(database) == expected_state(blocks)
            assert max(file.stat().st_size for file in (path / "db").glob("*.mem")) <= 64 << 20

    @pytest.mark.parametrize("spends", [19_659, 19_660, 19_661])
    def test_a_block_as_large_as_a_transaction(self, path: Path, spends: int) -> None:
        """With a memtable of 4 MiB a head of so many fitted neither into one nor into a table."""
        coins = block_at(1, coins=spends)
        names = sorted(coin.name() for coin in coins.confirms)
        with self.opened(path, cache_mb=8) as database:
            database.accept_block(coins)
            database.flush()
            database.accept_block(BlockSpendInfo(2, 0, names, []))
            database.flush()
        with self.opened(path, cache_mb=8) as database:
            assert database.last_block_index == 2


def be_killed(path: str, blocks: list[BlockSpendInfo]) -> None:
    """Keep blocks, and end as by kill -9."""
    database = find_schema("badger_kv,ingest_entries=999999999").open(Path(path))
    accept_all(database, blocks)
    database.flush()
    os.kill(os.getpid(), signal.SIGKILL)
