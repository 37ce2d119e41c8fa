"""Backups beside chia's own code: what `chia db backup` makes, and a node that writes meanwhile."""

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")

from chia.cmds.db_backup_func import backup_db
from chia.full_node.block_store import BlockStore
from chia.full_node.coin_store import CoinStore as TheirStore
from chia.util.db_wrapper import DBWrapper2
from chia_rs import BlockRecord, ClassgroupElement
from chia_rs.sized_bytes import bytes32, bytes100
from chia_rs.sized_ints import uint8, uint32, uint64, uint128

from cdb.chia import CoinStore
from cdb.contract.progress import no_bar
from cdb.errors import WrongDatabaseError
from cdb.node import follower
from cdb.node.backup.making import back_up
from cdb.node.backup.restore import restore
from cdb.node.kept_rows import rows_kept
from cdb.node.log import log_path_of
from cdb.node.status import status_of
from tests.chia.node import FIRST, child, opened
from tests.chia.test_cdb_store import rows_of

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """chia's wrapper of SQLite is asyncio's."""
    return "asyncio"


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A file with two blocks, closed."""
    async with opened(tmp_path / "node.sqlite") as node:
        await BlockStore.create(node.wrapper)
        await node.block(1, [], [FIRST])
        await node.block(2, [FIRST], [child(FIRST)])
    return tmp_path / "node.sqlite"


@pytest.mark.parametrize("no_indexes", [False, True])
async def test_no_node_starts_on_what_chia_db_backup_makes(path: Path, no_indexes: bool) -> None:
    copy = path.with_name("copy.sqlite")
    backup_db(path, copy, no_indexes=no_indexes)
    async with DBWrapper2.managed(copy, db_version=2) as wrapper:
        with pytest.raises(sqlite3.OperationalError, match="no such column"):
            await TheirStore.create(wrapper)
    async with DBWrapper2.managed(copy, db_version=2) as wrapper:
        with pytest.raises(WrongDatabaseError) as refused:
            await CoinStore.create(wrapper)
    assert f"{copy}.cdb: the coins of {copy} are not there" in str(refused.value)
    assert not log_path_of(copy).exists()
    [problem] = status_of(copy).problems
    assert f"{copy}.cdb: the coins of {copy} are not there" in problem


async def test_a_restored_copy_lives_on_by_itself(path: Path) -> None:
    back_up(path, path.with_name("backup"), no_bar)
    restore(path.with_name("backup"), path.with_name("new.sqlite"), no_bar)
    async with opened(path.with_name("new.sqlite")) as node:
        record = await node.record(child(FIRST))
        assert record is not None
        assert record.confirmed_block_index == 2
        assert (await node.record(FIRST)).spent_block_index == 2  # type: ignore[union-attr]
        await node.block(3, [child(FIRST)])
    async with opened(path) as node:  # which lives on by itself
        assert (await node.record(child(FIRST))).spent_block_index == 0  # type: ignore[union-attr]


async def test_rows_go_when_nobody_keeps_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "FLUSH_OPERATIONS", 1)
    async with opened(path) as node:
        with rows_kept(log_path_of(path)):
            kept = len(rows_of(path))
            for height in range(3, 40):
                await node.block(height)
                await node.record(FIRST)
            assert len(rows_of(path)) == kept + 37
        for height in range(40, 60):
            await node.block(height)
            await node.record(FIRST)
        assert len(rows_of(path)) < 40
    assert status_of(path).problems == []


def record_of(height: int, *, is_transaction_block: bool, has_output: bool) -> BlockRecord:
    """A block record with whatever chia would have there."""
    output = ClassgroupElement(bytes100(b"\xff" * 100))
    hash_ = bytes32(b"\xee" * 32)
    return BlockRecord(
        hash_,
        hash_,
        uint32(height),
        uint128(2**100),
        uint128(2**101),
        uint8(63),
        output,
        output if has_output else None,
        hash_,
        hash_,
        uint64(2**60),
        hash_,
        hash_,
        uint64(2**61),
        uint8(3),
        True,
        uint32(1 if is_transaction_block else 2),
        uint64(1_700_000_000) if is_transaction_block else None,
        hash_ if is_transaction_block else None,
        uint64(1) if is_transaction_block else None,
        [] if is_transaction_block else None,
        None,
        None,
        None,
        None,
    )


@pytest.mark.parametrize("has_output", [False, True])
@pytest.mark.parametrize("is_transaction_block", [False, True])
async def test_status_reads_chias_block_records(
    path: Path, has_output: bool, is_transaction_block: bool
) -> None:
    height = 2 if is_transaction_block else 5
    record = record_of(height, is_transaction_block=is_transaction_block, has_output=has_output)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "INSERT INTO full_blocks VALUES (?, ?, ?, NULL, 0, 1, ?, ?)",
            (record.header_hash, record.prev_hash, height, b"", bytes(record)),
        )
        connection.execute("INSERT INTO current_peak VALUES (0, ?)", (record.header_hash,))
        connection.commit()
    status = status_of(path)
    assert status.file.peak is not None
    assert (status.file.peak.height, status.file.peak.transaction_height) == (height, 2)
    assert status.problems == []


def test_backups_beside_a_writer_are_states_of_it() -> None:
    line = [sys.executable, "-m", "tests.chia.backups", "--seed", "16", "--times", "20"]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "no difference" in ended.stdout
