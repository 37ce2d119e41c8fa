"""Reads of cdb's store: what they look at, and that a block never waits for them."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")

from chia.full_node.hint_store import HintStore
from chia_rs import Coin
from chia_rs.sized_bytes import bytes32
from chia_rs.sized_ints import uint64
from hypothesis import given
from hypothesis import strategies as st

from cdb.chia import CoinStore
from cdb.contract.coin_query import COIN_BYTES, CoinKey, CoinQuery
from cdb.contract.coins import NAME_BYTES
from cdb.node import marked_table
from cdb.node.marked_table import ROW_BYTES, Sum
from cdb.schemas.coin_log import IndexedCoinLogSchema as Log
from cdb.stores.coin_log.binding import CoinLog
from tests.chia.node import FIRST, OTHER, SINGLETON, Node, child, info, opened

pytestmark = pytest.mark.anyio

DEADLINE = 60
"""Seconds until a wait has failed: what is waited for takes none."""


@pytest.fixture
def anyio_backend() -> str:
    """chia's wrapper of SQLite is asyncio's."""
    return "asyncio"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many names each query of a log was about, and coins it has given."""
    seen: list[int] = []
    coins_packed = Log.coins_packed

    def counted(log: Log, query: CoinQuery) -> Any:
        coins = coins_packed(log, query)
        seen.append(len(query.values) // NAME_BYTES + len(coins) // COIN_BYTES)
        return coins

    monkeypatch.setattr(Log, "coins_packed", counted)
    return seen


def dust(parent: Coin, first: int, n: int) -> list[Coin]:
    """Coins of the singleton's puzzle hash that are not their parent again."""
    return [child(parent, SINGLETON, amount) for amount in range(first, first + n)]


async def test_a_lineage_looks_at_no_dust(tmp_path: Path, asked: list[int]) -> None:
    path = tmp_path / "node.sqlite"
    second = child(FIRST)
    looked = []

    async def look(node: Node) -> None:
        await node.record(FIRST)  # what is put off until the next call
        asked.clear()
        assert await node.lineage() == info(second, FIRST)
        looked.append(sum(asked))

    async with opened(path) as node:
        await node.block(1, [], [FIRST])
        await node.block(2, [FIRST], [second])
        await look(node)
        payer = child(FIRST, OTHER, 1)
        await node.block(3, [], [payer])
        await node.block(4, [payer], dust(payer, 2, 500))
        await look(node)
        await node.block(5, dust(payer, 2, 400), [])
        await look(node)
        await node.store.rollback_to_block(4)  # they are unspent again, and no more than dust
        await look(node)
        async with node.wrapper.writer():
            await node.block(5, dust(payer, 2, 300), [])
            await look(node)
    async with opened(path) as node:
        await look(node)
    assert looked == [4] * 6  # it, and its parent


async def test_unspent_coins_are_counted_and_not_looked_at(
    tmp_path: Path, asked: list[int]
) -> None:
    """Also as the writer has them, whose blocks take the place of others."""
    counted = []

    async def count(node: Node) -> None:
        await node.record(FIRST)  # what is put off until the next call
        asked.clear()
        counted.append(await node.store.num_unspent())
        assert asked == []

    async with opened(tmp_path / "node.sqlite") as node:
        await count(node)
        await node.block(1, [], [FIRST])
        await node.block(2, [FIRST], [child(FIRST)])
        await count(node)
        async with node.wrapper.writer():
            await node.block(3, [child(FIRST)], [])
            await count(node)
            await node.store.rollback_to_block(1)
            await count(node)
            await node.block(2, [FIRST, child(FIRST)], [child(FIRST)])
            await count(node)
        await count(node)
    async with opened(tmp_path / "node.sqlite") as node:
        await count(node)
    assert counted == [0, 5, 6, 3, 4, 4, 4]


async def test_a_spent_coin_of_a_singleton_is_not_looked_at_again(
    tmp_path: Path, asked: list[int]
) -> None:
    """Nor one that was taken back; however it was spent, and in however many blocks of a height."""
    coins = [FIRST]
    async with opened(tmp_path / "node.sqlite") as node:
        await node.block(1, [], coins)
        for height in range(2, 30):
            coins.append(child(coins[-1]))
            await node.block(height, coins[-2:-1], coins[-1:])
        await node.store.rollback_to_block(20)
        await node.block(21, [coins[19]], [child(coins[19], OTHER)])
        for spends in ([], [child(coins[19], OTHER).name()]):
            await node.store._set_spent(spends, 21)
            await node.record(FIRST)  # what is put off until the next call
            asked.clear()
            assert await node.lineage() is None
            assert sum(asked) == 0


@pytest.fixture
async def with_marks(tmp_path: Path) -> Path:
    """A closed file in which coins were marked, spent, and taken back."""
    path = tmp_path / "node.sqlite"
    second, other = child(FIRST), Coin(FIRST.name(), OTHER, uint64(3))
    async with opened(path) as node:
        await node.block(1, [], [FIRST])
        await node.block(2, [FIRST], [second, other])
        with suppress(ZeroDivisionError):
            async with node.wrapper.writer():
                await node.block(3, [second, other], [child(second), child(other)])
                raise ZeroDivisionError
        await node.block(3, [second], [child(second)])
        await node.store.rollback_to_block(2)
        await node.block(3, [second, other], [child(second), child(other)])
    return path


async def test_marks_that_are_whole_are_not_made_again(
    with_marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However they came to be there."""

    async def makes(*_: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(marked_table, "make", makes)
    async with opened(with_marks) as node:
        assert await node.lineage() is not None


@pytest.mark.parametrize(
    "loss",
    [
        "DROP TABLE cdb_marked",
        "DELETE FROM cdb_marked",
        "UPDATE cdb_marked SET coin_name = zeroblob(32) WHERE puzzle_hash = x'SINGLETON'",
        "DELETE FROM cdb_marked WHERE puzzle_hash = x'SINGLETON'",
        "UPDATE cdb_marked SET puzzle_hash = x'FF' WHERE puzzle_hash = x'SINGLETON'",
        "UPDATE cdb_marked SET puzzle_hash = 'text' WHERE puzzle_hash = x'SINGLETON'",
        "DROP TABLE cdb_marked_sum",
        "DELETE FROM cdb_marked_sum",
        "UPDATE cdb_marked_sum SET digest = 'text'",
        "INSERT INTO cdb_marked_sum VALUES(0, x'')",
    ],
)
async def test_marks_that_are_lost_are_made_again(
    with_marks: Path, caplog: pytest.LogCaptureFixture, loss: str
) -> None:
    third = child(child(FIRST))
    with closing(sqlite3.connect(with_marks)) as connection, connection:
        before = [*connection.execute("SELECT * FROM cdb_marked")]
        connection.execute(loss.replace("SINGLETON", SINGLETON.hex()))
    async with opened(with_marks) as node:
        assert await node.lineage() == info(third, child(FIRST))
    assert "its table cdb_marked lacks rows; it is made again" in caplog.text
    with closing(sqlite3.connect(with_marks)) as connection:
        assert [*connection.execute("SELECT * FROM cdb_marked")] == before
    assert len(before) == 2


@given(st.lists(st.binary(min_size=ROW_BYTES, max_size=ROW_BYTES), max_size=40))
def test_a_sum_is_of_all_rows_in_any_order(rows: list[bytes]) -> None:
    total = Sum()
    for row in rows:
        total = total.changed(Sum(1, int.from_bytes(row, "big")), 1)
    assert Sum.of(b"".join(rows)) == Sum.of(b"".join(reversed(rows))) == total


async def test_a_rollback_makes_no_objects_of_what_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def makes_objects(log: Log, block_index: int) -> None:
        raise AssertionError(block_index)

    monkeypatch.setattr(Log, "block_info_for_block_index", makes_objects)
    async with opened(tmp_path / "node.sqlite") as node:
        for height in range(1, 5):
            await node.block(height)
        await node.store.rollback_to_block(3)
        async with node.wrapper.writer():
            await node.store.rollback_to_block(2)
            await node.block(3)
        assert len(await node.store.get_coins_added_at_height(3)) == 2


@asynccontextmanager
async def peers_ask(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[asyncio.Task[Any]]]:
    """Twenty calls of peers, of each kind, that have begun, and that end when this does."""
    goes_on, has_begun = Event(), Event()
    coins_packed = Log.coins_packed
    blocks: set[Any] = {CoinKey.PUZZLE_HASH, CoinKey.PARENT, CoinKey.NAME}

    def waits(log: Log, query: CoinQuery) -> Any:
        if query.key in blocks and SINGLETON in bytes(query.values):
            has_begun.set()
            assert goes_on.wait(DEADLINE)
        return coins_packed(log, query)

    monkeypatch.setattr(Log, "coins_packed", waits)
    many = [SINGLETON, *(bytes32(n.to_bytes(32, "big")) for n in range(1_000))]
    store = node.store
    calls = (
        lambda: store.batch_coin_states_by_puzzle_hashes(many),
        lambda: store.get_coin_states_by_puzzle_hashes(True, {*many}),
        lambda: store.get_coin_states_by_ids(True, many),
        lambda: store.get_coin_records_by_parent_ids(True, many),
        lambda: store.get_coin_records_by_names(True, many),
    )
    tasks = [asyncio.ensure_future(calls[n % len(calls)]()) for n in range(20)]
    while not has_begun.is_set():
        await asyncio.sleep(0.001)
    try:
        yield tasks
    finally:
        goes_on.set()
        await asyncio.gather(*tasks)


async def test_no_block_waits_for_what_a_peer_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    coins = [child(FIRST, OTHER, amount) for amount in range(1_000)]
    async with opened(tmp_path / "node.sqlite") as node:
        await HintStore.create(node.wrapper)
        await node.block(1, [], [FIRST])
        await node.block(2, [FIRST], [child(FIRST)])
        async with peers_ask(node, monkeypatch) as asking:

            async def follow() -> None:
                await node.block(3, [], coins)
                names = [coin.name() for coin in coins]
                assert len(await node.store.get_coin_records(names)) == len(coins)
                await node.block(4, coins, [])
                await node.store.rollback_to_block(3)
                await node.block(4)

            await asyncio.wait_for(follow(), DEADLINE)
            assert not any(task.done() for task in asking)


async def test_an_answer_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a block, or a reorg, comes between two queries of it."""
    second = child(FIRST)
    hinted = child(FIRST, OTHER)
    async with opened(tmp_path / "node.sqlite") as node:
        hints = await HintStore.create(node.wrapper)
        await hints.add_hints([(hinted.name(), SINGLETON)])
        await node.block(1, [], [FIRST])
        await node.block(2, [FIRST], [second, hinted])
        loop = asyncio.get_running_loop()
        coins_packed, left = Log.coins_packed, [1]

        async def arrive() -> None:
            await node.block(3, [second, hinted], [child(second)])
            await node.record(FIRST)

        def between(log: Log, query: CoinQuery) -> Any:
            if query.key is CoinKey.NAME and query.by_change and left.pop():
                left.append(0)
                asyncio.run_coroutine_threadsafe(arrive(), loop).result(DEADLINE)
            return coins_packed(log, query)

        monkeypatch.setattr(Log, "coins_packed", between)
        states, _ = await node.store.batch_coin_states_by_puzzle_hashes([SINGLETON])
        spent = {state.coin.name(): state.spent_height for state in states}
        assert spent == {
            FIRST.name(): 2,
            second.name(): 3,
            hinted.name(): 3,
            child(second).name(): None,
        }


async def test_coins_come_with_their_hints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of a block, and of the hints with it, that come when hints were read."""
    hinted, hinted_of = child(FIRST, OTHER), CoinStore._hinted
    async with opened(tmp_path / "node.sqlite") as node:
        hints = await HintStore.create(node.wrapper)
        await node.block(1, [], [FIRST])

        async def arrive() -> None:
            async with node.wrapper.writer():
                await node.block(2, [FIRST], [child(FIRST), hinted])
                await hints.add_hints([(hinted.name(), SINGLETON)])

        arriving = [arrive]

        async def between(store: CoinStore, values: list[bytes]) -> bytes:
            names = await hinted_of(store, values)
            while arriving:
                await asyncio.create_task(arriving.pop()())
            return names

        monkeypatch.setattr(CoinStore, "_hinted", between)
        states, _ = await node.store.batch_coin_states_by_puzzle_hashes([SINGLETON])
        found = {state.coin.name() for state in states}
        assert found == {FIRST.name(), child(FIRST).name(), hinted.name()}


async def test_no_read_sees_a_reorg_half_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rewind, and then blocks: what is between them was never committed."""
    many = [SINGLETON, *(bytes32(n.to_bytes(32, "big")) for n in range(1_000))]
    accept, coins_packed = CoinLog.accept, Log.coins_packed
    is_rewound, was_read = Event(), Event()

    def accepts(log: CoinLog, blocks: Any, **options: bool) -> Any:
        is_rewound.set()
        assert was_read.wait(DEADLINE)
        return accept(log, blocks, **options)

    def waits(log: Log, query: CoinQuery) -> Any:
        if query.key is CoinKey.PUZZLE_HASH:
            assert is_rewound.wait(DEADLINE)
        try:
            return coins_packed(log, query)
        finally:
            if query.key is CoinKey.PUZZLE_HASH:
                was_read.set()

    async with opened(tmp_path / "node.sqlite") as node:
        await node.block(1, [], [FIRST])
        await node.block(2, [FIRST], [child(FIRST)])
        await node.record(FIRST)
        monkeypatch.setattr(Log, "coins_packed", waits)
        reading = asyncio.ensure_future(node.store.get_coin_records_by_puzzle_hashes(False, many))
        await asyncio.sleep(0.05)
        monkeypatch.setattr(CoinLog, "accept", accepts)
        async with node.wrapper.writer():
            await node.store.rollback_to_block(1)
            await node.block(2, [FIRST], [child(FIRST), child(FIRST, SINGLETON, uint64(5))])
        await node.record(FIRST)
        assert len(await reading) == 2
