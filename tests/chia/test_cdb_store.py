"""What is cdb's own about its coin store: files, locks, errors, cancellation."""

import asyncio
import os
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")

from chia.util.db_wrapper import DBWrapper2
from chia_rs import Coin

from cdb.chia import CoinStore, signatures
from cdb.chia.questions import all_marked
from cdb.chia.store import _THEIRS
from cdb.contract.coin_query import CoinQuery
from cdb.contract.packed import Packed, PackedBlocks
from cdb.errors import (
    CdbError,
    DatabaseClosedError,
    StorageError,
    UnsupportedError,
    WrongDatabaseError,
)
from cdb.node import follower, ops_table, own_tables
from cdb.node.worker import Worker
from cdb.schemas import coin_log
from cdb.stores.coin_log.binding import CoinLog
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain
from tests.chia.node import FIRST, LAUNCHER, Node, child, opened, rewards
from tests.conftest import contents

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """chia's wrapper of SQLite is asyncio's."""
    return "asyncio"


class Beside(CoinStore):
    """cdb's store in a file that has chia's own, too."""

    interlock = False


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    """What cdb_ops holds."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT number, height, kind FROM cdb_ops").fetchall()


@contextmanager
def every_descriptor_taken() -> Iterator[None]:
    """As many files are open as may be."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, limits[1]))
    with ExitStack() as held:
        held.callback(resource.setrlimit, resource.RLIMIT_NOFILE, limits)
        with suppress(OSError):
            while True:
                held.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        yield


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A file with two blocks, closed."""
    async with opened(tmp_path / "node.sqlite") as node:
        await node.block(1, [], [FIRST])
        await node.block(2, [FIRST], [child(FIRST)])
    return tmp_path / "node.sqlite"


async def test_a_plain_node_refuses_the_file_and_a_copy_of_its_tables(path: Path) -> None:
    copy = path.with_name("copy.sqlite")
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(copy)) as new:
        tables = old.execute("SELECT sql, name FROM sqlite_master WHERE type = 'table'").fetchall()
        new.execute("ATTACH ? AS old", (str(path),))
        for sql, name in tables:  # as `chia db backup --no_indexes` does
            new.execute(sql)
            new.execute(f"INSERT INTO {name} SELECT * FROM old.{name}")  # noqa: S608
        new.commit()
    for file in (path, copy):
        async with DBWrapper2.managed(file, db_version=2) as wrapper:
            with pytest.raises(sqlite3.OperationalError, match="confirmed_index"):
                await _THEIRS.create(wrapper)


async def test_a_file_with_coins_of_chias_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    async with DBWrapper2.managed(path, db_version=2) as wrapper:
        theirs = await _THEIRS.create(wrapper)
        await theirs.new_block(1, 1, rewards(1), [], [])
        with pytest.raises(WrongDatabaseError, match="its coins are in chia's own table"):
            await CoinStore.create(wrapper)
        assert await theirs.num_unspent() == 2


async def test_chias_coins_are_never_dropped(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    async with DBWrapper2.managed(path, db_version=2) as wrapper:
        theirs = await _THEIRS.create(wrapper)
        await Beside.create(wrapper)
        await theirs.new_block(1, 1, rewards(1), [], [])
    async with DBWrapper2.managed(path, db_version=2) as wrapper:
        with pytest.raises(WrongDatabaseError, match="its coins are in chia's own table"):
            await CoinStore.create(wrapper)
        assert await (await _THEIRS.create(wrapper)).num_unspent() == 2


async def test_a_log_of_another_file_is_refused_and_left_alone(path: Path, tmp_path: Path) -> None:
    async with opened(tmp_path / "other.sqlite") as node:
        await node.block(1, [], [LAUNCHER])
        await node.block(2, [LAUNCHER], [])
    log = Path(f"{path}.cdb")
    shutil.rmtree(log)
    shutil.copytree(tmp_path / "other.sqlite.cdb", log)
    before = contents(log)
    with pytest.raises(WrongDatabaseError, match=r"not the coin log of .*a new one or another's"):
        async with opened(path):
            pass
    assert contents(log) == before
    shutil.rmtree(log)
    with pytest.raises(WrongDatabaseError, match=r"the coins of .* are not there; put both back"):
        async with opened(path):
            pass
    assert not log.exists()


async def test_a_log_without_its_file_is_refused(path: Path) -> None:
    path.unlink()
    before = contents(Path(f"{path}.cdb"))
    with pytest.raises(WrongDatabaseError, match=r"the SQLite file beside it is a new one"):
        async with opened(path):
            pass
    assert contents(Path(f"{path}.cdb")) == before


async def test_a_log_without_an_index_is_refused_and_gets_none(path: Path) -> None:
    log = Path(f"{path}.cdb")
    path.unlink()
    shutil.rmtree(log)
    with coin_log.coin_log(log) as other:
        accept_all(other, sample_chain().blocks)
    before = contents(log)
    with pytest.raises(WrongDatabaseError, match=r"the SQLite file beside it is a new one"):
        async with opened(path):
            pass
    assert contents(log) == before


async def test_a_file_that_fell_back_takes_the_log_back(path: Path) -> None:
    """As a power cut may have it, with synchronous = NORMAL."""
    before = path.with_name("before.sqlite")
    shutil.copy(path, before)
    async with opened(path) as node:
        await node.block(3, [child(FIRST)], [])
        await node.block(5)
    shutil.copy(before, path)
    async with opened(path) as node:
        assert (await node.record(child(FIRST))).spent_block_index == 0  # type: ignore[union-attr]
        assert await node.store.get_coins_added_at_height(5) == []


async def test_rows_go_when_the_log_has_them(path: Path) -> None:
    async with opened(path) as node:
        for height in range(3, 300):
            await node.block(height)
    rows = rows_of(path)
    assert 1 <= len(rows) < 200
    assert rows[-1][1:] == (299, "block")
    async with opened(path) as node:
        assert await node.store.num_unspent() == 2 * 299 + 1


async def test_no_cancellation_leaves_the_table_empty(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def cancelled(connection: object, number: int) -> None:
        await delete_up_to(connection, number)
        raise asyncio.CancelledError

    delete_up_to = ops_table.delete_up_to
    monkeypatch.setattr(ops_table, "delete_up_to", cancelled)
    monkeypatch.setattr(follower, "FLUSH_OPERATIONS", 1)
    async with opened(path) as node:
        for height in range(3, 30):
            async with node.wrapper.writer():
                with suppress(asyncio.CancelledError):  # and yet it goes on to commit
                    await node.block(height)
            await node.record(FIRST)
            await asyncio.sleep(0.01)
            assert rows_of(path)
        n_unspent = await node.store.num_unspent()
    async with opened(path) as node:
        assert await node.store.num_unspent() == n_unspent


async def test_a_cancelled_caller_loses_no_committed_operation(path: Path) -> None:
    async with opened(path) as node:
        for height in range(3, 60):

            async def add(height: int = height) -> None:
                async with node.wrapper.writer():
                    with suppress(asyncio.CancelledError):  # and yet it goes on to commit
                        await node.block(height)

            task = asyncio.create_task(add())
            await asyncio.sleep(0.0004 * (height % 10))
            task.cancel()
            await asyncio.wait([task])
            rows = await node.wrapper._write_connection.execute_fetchall(
                "SELECT 1 FROM cdb_ops WHERE height = ?", (height,)
            )
            added = await node.store.get_coins_added_at_height(height)
            assert len(added) == (2 if list(rows) else 0), height


@pytest.mark.parametrize("call", ["accept", "commit"])
async def test_after_a_failed_write_every_call_raises_and_nothing_is_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def disk_full(log: CoinLog, *_: object, **__: object) -> None:
        raise StorageError(log.path, "disk full (ENOSPC)")

    monkeypatch.setattr(follower, "FLUSH_OPERATIONS", 1)
    async with opened(path) as node:
        with monkeypatch.context() as patch:
            patch.setattr(CoinLog, call, disk_full)
            await node.block(3, [child(FIRST)], [])
            with pytest.raises(CdbError, match="disk full"):  # noqa: PT012 - one of a few calls
                for _ in range(100):
                    await node.record(FIRST)
                    await asyncio.sleep(0.01)
        for ask in (node.store.num_unspent(), node.record(FIRST), node.block(4), node.lineage()):
            with pytest.raises(CdbError, match="disk full"):
                await ask
    async with opened(path) as node:
        assert (await node.record(child(FIRST))).spent_block_index == 3  # type: ignore[union-attr]
        assert await node.store.get_coins_added_at_height(4) == []
        await node.block(4)


async def test_of_two_wrappers_of_a_file_the_second_has_it(path: Path) -> None:
    async with opened(path) as first, opened(path) as second:
        await second.block(3, [child(FIRST)], [])
        names = [child(FIRST).name()] * 1_000  # so many are for the thread, which has ended
        for ask in (first.record(FIRST), first.store.get_coin_records(names), first.block(3)):
            with pytest.raises(DatabaseClosedError, match="another wrapper of SQLite has opened"):
                await asyncio.wait_for(ask, 10)
        assert (await second.record(child(FIRST))).spent_block_index == 3  # type: ignore[union-attr]


async def test_heights_without_blocks_cost_no_query_when_all_unspent_coins_are_read(
    path: Path,
) -> None:
    async with opened(path) as node:
        await node.block(2**32 - 2)
        assert await node.store.num_unspent() == 7
        log, left = await node.store._follower.view(node.wrapper), iter(range(10))

        class Counted:
            def coins_packed(self, query: CoinQuery) -> Packed:
                next(left)
                coins: Packed = log.coins_packed(query)
                return coins

        assert [mark for part in all_marked(Counted()) for mark in part] == [
            (child(FIRST).puzzle_hash, child(FIRST).name())
        ]


async def test_a_lower_block_is_refused(path: Path) -> None:
    async with opened(path) as node:
        with pytest.raises(ValueError, match="the newest block is 2; roll back"):
            await node.block(1)


@pytest.mark.parametrize("is_committed", [True, False])
async def test_a_block_that_its_coins_do_not_allow_is_refused_before_its_row_is_written(
    path: Path, is_committed: bool
) -> None:
    """Also where only the transaction that is open has these coins."""
    third = child(child(FIRST))
    async with opened(path) as node:
        async with node.wrapper.writer():
            await node.block(3, [child(FIRST)], [third])
            if not is_committed:
                await refuse_all(node, third)
        if is_committed:
            await refuse_all(node, third)
        assert [row[1:] for row in rows_of(path)][-1] == (3, "block")
        await node.block(4, [third], [child(third)])
        assert (await node.record(third)).spent_block_index == 4  # type: ignore[union-attr]


async def refuse_all(node: Node, third: Coin) -> None:
    """One that is spent, in the log or by the newest block; none; one twice; one that is there."""
    for spends in ([FIRST], [child(FIRST)], [child(third)], [third, third]):
        with pytest.raises(ValueError, match="total updates"):
            await node.block(4, spends, [])
    for coin in (FIRST, third):
        with pytest.raises(sqlite3.IntegrityError, match="UNIQUE constraint failed"):
            await node.block(4, [], [coin])


async def test_another_chia_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    signatures.check_signatures(_THEIRS, CoinStore)

    class Newer(CoinStore):
        async def num_unspent(self, *, of: bytes = b"") -> int:
            return 0

    monkeypatch.setattr(signatures, "version", lambda name: "9.8.7")
    says = r"blockchain 9\.8\.7 is.* those of 2\.7\.0 to 2\.7\.5.*num_unspent.*; install one of"
    with pytest.raises(UnsupportedError, match=says):
        signatures.check_signatures(Newer, CoinStore)


async def test_an_old_schema_is_refused() -> None:
    async with DBWrapper2.managed(":memory:", db_version=1) as wrapper:
        with pytest.raises(RuntimeError, match="does not support database schema v1"):
            await CoinStore.create(wrapper)


async def test_the_thread_is_busy_also_behind_a_call_that_was_cancelled() -> None:
    worker = Worker()
    goes_on = Event()
    worker.submit(goes_on.wait)
    cancelled = asyncio.ensure_future(worker.run(lambda: None, 10**6))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.sleep(0)
    assert not worker.is_idle
    goes_on.set()
    worker.end(lambda: None)
    worker.join()


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM cdb_ops WHERE number = 2",
        "UPDATE cdb_ops SET kind = 'blocks' WHERE number = 3",
        "UPDATE cdb_ops SET height = -1 WHERE number = 3",
        "UPDATE cdb_ops SET record = substr(record, 1, 3) WHERE number = 3",
        "UPDATE cdb_ops SET record = substr(record, 1, 70) WHERE number = 3",
        "UPDATE cdb_ops SET height = 'x' WHERE number = 3",
        "UPDATE cdb_ops SET record = CAST(substr(record, 1, 56) || substr(record, 129, 72)"
        " || substr(record, 57, 72) AS BLOB) WHERE number = 4",
        "UPDATE cdb_ops SET record = (SELECT CAST(substr(cdb_ops.record, 1, 56)"
        " || substr(former.record, 57) AS BLOB) FROM cdb_ops AS former WHERE number = 3)"
        " WHERE number = 4",
    ],
)
async def test_rows_that_do_not_follow_on_each_other_are_damage(
    tmp_path: Path, change: str
) -> None:
    path = tmp_path / "node.sqlite"
    async with opened(path) as node:
        for height in range(1, 5):
            await node.block(height, [], [])
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(change).rowcount == 1
    with pytest.raises(CdbError, match=r"node\.sqlite: its table cdb_ops is damaged"):
        async with opened(path):
            pass


async def test_a_marked_file_without_rows_is_none_that_is_new(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE cdb_ops")
    shutil.rmtree(f"{path}.cdb")
    with pytest.raises(WrongDatabaseError, match="its table cdb_ops is lost; put both back"):
        async with opened(path):
            pass


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("name", [*own_tables.KEPT])
@pytest.mark.parametrize(
    "other",
    [
        "CREATE VIEW {name} AS SELECT 1 AS number",
        "CREATE TABLE {name}(x)",
        "CREATE TABLE {upper}(x)",
        "CREATE INDEX {name} ON other(x)",
        "CREATE VIRTUAL TABLE {name} USING fts5(x)",
    ],
)
async def test_what_others_have_under_names_of_ours_is_told(
    path: Path, tmp_path: Path, *, is_new: bool, name: str, other: str
) -> None:
    if is_new:
        path = tmp_path / "new.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE other(x)")
        connection.execute(f"DROP TABLE IF EXISTS {name}")
        connection.execute(other.format(name=name, upper=name.upper()))
    problem = rf"{path.name}: its (view|table|index) {name} has a name that cdb needs; rename it$"
    with pytest.raises(WrongDatabaseError, match=f"(?i){problem}"):
        async with opened(path):
            pass


@pytest.mark.parametrize("name", [*own_tables.KEPT])
async def test_a_trigger_on_a_table_of_ours_is_told(path: Path, name: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TRIGGER t AFTER INSERT ON {name} BEGIN SELECT 1; END")
    with pytest.raises(WrongDatabaseError, match=r"its trigger t changes a table of cdb's; drop"):
        async with opened(path):
            pass


async def test_a_second_wrapper_waits_for_a_transaction_of_the_first(path: Path) -> None:
    """Else it would not know of the row that this one commits."""
    async with opened(path) as first:
        async with DBWrapper2.managed(path, db_version=2) as other:
            async with first.wrapper.writer():
                await first.block(3, [], [])
                opening = asyncio.ensure_future(CoinStore.create(other))
                await asyncio.sleep(0.3)
                assert not opening.done()
            store = await opening
            assert len(await store.get_coins_added_at_height(3)) == 2
        store._follower.close()


async def test_a_store_whose_making_was_undone_can_be_made_again(tmp_path: Path) -> None:
    async with DBWrapper2.managed(tmp_path / "node.sqlite", db_version=2) as wrapper:
        with suppress(ZeroDivisionError):
            async with wrapper.writer():
                await CoinStore.create(wrapper)
                raise ZeroDivisionError
        store = await CoinStore.create(wrapper)
        await store.new_block(1, 1, rewards(1), [], [])
        assert await store.num_unspent() == 2
    store._follower.close()


@pytest.mark.parametrize(("height", "timestamp"), [(2**32, 1), (-1, 1), (3, -1), (3, 2**64)])
async def test_what_the_log_would_refuse_is_not_committed(
    path: Path, height: int, timestamp: int
) -> None:
    async with opened(path) as node:
        with pytest.raises(ValueError, match="can't be kept"):
            await node.store.new_block(height, timestamp, rewards(1), [], [])
        await node.block(3, [], [])


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Each block that a log accepts, and each rewind, with its index."""
    done: list[tuple[str, Any]] = []
    accept, rewind = CoinLog.accept, CoinLog.rewind

    def watched_accept(log: CoinLog, blocks: PackedBlocks, **options: bool) -> PackedBlocks | None:
        done.extend(("block", index) for index in blocks.indices)
        return accept(log, blocks, **options)

    def watched_rewind(log: CoinLog, block_index: int) -> None:
        done.append(("rewind", block_index))
        rewind(log, block_index)

    monkeypatch.setattr(CoinLog, "accept", watched_accept)
    monkeypatch.setattr(CoinLog, "rewind", watched_rewind)
    return done


async def test_a_log_that_has_all_its_rows_is_opened_without_a_write(
    path: Path, writes: list[tuple[str, Any]]
) -> None:
    async with opened(path):
        writes.clear()  # it may have lacked the last one, which no call came behind
    assert len(rows_of(path)) == 2
    manifest = Path(f"{path}.cdb") / "derived" / "manifest"
    before = manifest.stat()
    async with opened(path):
        pass
    assert writes == []
    assert manifest.stat().st_ino == before.st_ino  # nor is a checkpoint made


async def test_opening_applies_just_what_the_log_lacks(
    path: Path, writes: list[tuple[str, Any]]
) -> None:
    log, before = Path(f"{path}.cdb"), path.with_name("before")
    async with opened(path):
        pass
    shutil.copytree(log, before)
    async with opened(path) as node:
        await node.block(3, [child(FIRST)], [])
        await node.block(5)
    shutil.rmtree(log)
    before.rename(log)
    writes.clear()
    async with opened(path) as node:
        assert writes == [("block", 3), ("block", 5)]
        assert (await node.store.get_coin_record(child(FIRST).name())).spent_block_index == 3


async def test_opening_takes_back_just_what_no_row_has(
    path: Path, writes: list[tuple[str, Any]]
) -> None:
    before, beside = path.with_name("before.sqlite"), path.with_name("beside")
    shutil.copy(path, before)
    async with opened(path) as node:
        await node.block(3, [child(FIRST)], [])
    async with opened(path):
        pass
    shutil.copytree(f"{path}.cdb", beside)
    writes.clear()
    shutil.copy(before, path)
    async with opened(path) as node:
        assert writes == [("rewind", 2)]
        await node.block(3)
    shutil.rmtree(f"{path}.cdb")
    beside.rename(f"{path}.cdb")
    writes.clear()
    async with opened(path) as node:
        assert writes == [("rewind", 2), ("block", 3)]
        assert not (await node.store.get_coin_record(child(FIRST).name())).spent


async def test_a_block_below_those_that_sqlite_knows_goes_when_it_fell_back(
    path: Path, writes: list[tuple[str, Any]]
) -> None:
    """Heights have gaps: what came after a rollback may be below all rows that are left."""
    before = path.with_name("before.sqlite")
    async with opened(path) as node:
        await node.block(5)
        await node.store.rollback_to_block(4)
    assert [row[1:] for row in rows_of(path)] == [(5, "block"), (5, "rollback")]
    shutil.copy(path, before)
    async with opened(path) as node:
        await node.block(3)
    async with opened(path) as node:
        assert len(await node.store.get_coins_added_at_height(3)) == 2
    shutil.copy(before, path)
    writes.clear()
    async with opened(path) as node:
        assert writes == [("rewind", 2)]
        assert await node.store.get_coins_added_at_height(3) == []
        assert await node.store.num_unspent() == 2 * 2 + 1


async def test_a_store_has_all_the_descriptors_that_its_answers_need(path: Path) -> None:
    async with opened(path) as node:
        with every_descriptor_taken():
            [coin, _] = await node.block(3)
            record = await node.record(coin)
    assert record is not None
    assert record.confirmed_block_index == 3


async def test_what_is_committed_and_cannot_be_seen_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = sqlite3.OperationalError("disk I/O error")
    problem.sqlite_errorcode = sqlite3.SQLITE_IOERR_READ
    look = Mock(execute=Mock(side_effect=problem))
    monkeypatch.setattr(follower, "_looking_at", lambda file: look)
    async with opened(path) as node:
        [coin, _] = await node.block(3)
        with pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
            await node.record(coin)
        problem.sqlite_errorcode = sqlite3.SQLITE_BUSY
        assert await node.record(coin) is None
        look.execute = Mock(return_value=Mock(fetchall=Mock(return_value=[(9,)])))
