"""What chia's tests do to coin_record by SQL, done by blocks; and what a store owes transactions.

chia's own store passes all of these: --coin-store chia.full_node.coin_store:CoinStore.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")

from chia.full_node import coin_store as chia_coin_store
from chia.full_node.hint_store import HintStore
from chia.util.db_wrapper import DBWrapper2, generate_in_memory_db_uri
from chia_rs import Coin, CoinRecord
from chia_rs.sized_bytes import bytes32
from chia_rs.sized_ints import uint32, uint64

from tests.chia.node import FIRST, LAUNCHER, ODD, OTHER, SINGLETON, Node, child, info, rewards

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """chia's wrapper of SQLite is asyncio's."""
    return "asyncio"


@asynccontextmanager
async def opened(path: Path | None, readers: int = 3) -> AsyncIterator[Node]:
    """The store of a file, or of a database in memory."""
    place: dict[str, Any] = {"database": path}
    if path is None:
        place = {"database": generate_in_memory_db_uri(), "uri": True}
    async with DBWrapper2.managed(**place, reader_count=readers, db_version=2) as wrapper:
        await HintStore.create(wrapper)
        yield Node(await chia_coin_store.CoinStore.create(wrapper), wrapper)


@pytest.fixture(params=["file", "memory"])
async def node(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Node]:
    """An empty one."""
    path = tmp_path / "node.sqlite" if request.param == "file" else None
    async with opened(path) as found:
        yield found


@pytest.mark.parametrize(
    ("last", "is_found"),
    [
        (child(FIRST), True),
        (child(FIRST, amount=ODD - 2), False),
        (child(FIRST, puzzle_hash=OTHER), False),
    ],
    ids=["recreated", "another amount", "another puzzle"],
)
async def test_a_lineage_is_of_what_was_recreated(node: Node, last: Coin, is_found: bool) -> None:
    await node.block(1, [], [LAUNCHER])
    await node.block(2, [LAUNCHER], [FIRST])
    assert await node.lineage() is None
    await node.block(3, [FIRST], [last])
    assert await node.lineage() == (info(last, FIRST) if is_found else None)


async def test_a_lineage_follows_blocks_and_rollbacks(node: Node) -> None:
    second, third = child(FIRST), child(child(FIRST))
    await node.block(1, [], [LAUNCHER])
    await node.block(2, [LAUNCHER], [FIRST])
    await node.block(4, [FIRST], [second])
    await node.block(5, [second], [third])
    assert await node.lineage() == info(third, second)
    await node.block(6, [third], [])
    assert await node.lineage() is None
    changes = await node.store.rollback_to_block(4)
    assert await node.lineage() == info(second, FIRST)
    assert changes[third.name()] == CoinRecord(third, uint32(0), uint32(6), False, uint64(0))
    assert changes[second.name()] == await node.record(second)
    assert changes[second.name()].timestamp == 50_004
    await node.store.rollback_to_block(2)
    assert await node.lineage() is None


async def test_of_two_lineages_there_is_none(node: Node) -> None:
    coins = [Coin(bytes32([number] * 32), SINGLETON, uint64(ODD)) for number in (1, 2)]
    await node.block(1, [], coins)
    await node.block(2, coins, [child(coin) for coin in coins])
    assert await node.lineage() is None
    await node.block(3, [child(coins[0])], [])
    assert await node.lineage() == info(child(coins[1]), coins[1])


async def test_a_lineage_within_a_block_has_one_end(node: Node) -> None:
    second, third = child(FIRST), child(child(FIRST))
    await node.block(1, [], [FIRST])
    await node.block(2, [FIRST, second], [third, second])
    assert await node.lineage() == info(third, second)
    await node.store.rollback_to_block(1)
    assert await node.lineage() is None


async def test_a_reward_has_no_lineage(node: Node) -> None:
    [pool, farmer] = await node.block(1, [], [FIRST])
    await node.block(2, [pool, FIRST], [child(FIRST)])
    changes = await node.store.rollback_to_block(1)
    assert set(changes) == {coin.name() for coin in [pool, FIRST, child(FIRST), *rewards(2)]}
    assert (await node.record(pool)).coinbase  # type: ignore[union-attr]
    assert not (await node.record(FIRST)).coinbase  # type: ignore[union-attr]
    assert (await node.record(farmer)).spent_block_index == 0  # type: ignore[union-attr]
    assert await node.store.rollback_to_block(1) == {}


async def test_a_rollback_below_everything(node: Node) -> None:
    await node.block(0, [], [LAUNCHER])
    await node.block(1, [LAUNCHER], [FIRST])
    changes = await node.store.rollback_to_block(-5)
    assert changes.keys() == {coin.name() for coin in [LAUNCHER, FIRST, *rewards(1)]}
    assert await node.store.is_empty()
    await node.block(0, [], [LAUNCHER])
    assert await node.store.num_unspent() == 1


async def test_what_a_transaction_undoes_never_was(node: Node) -> None:
    second = child(FIRST)
    await node.block(1, [], [FIRST])
    await node.block(2, [FIRST], [second])
    with pytest.raises(LookupError):  # noqa: PT012 - the transaction is what fails
        async with node.wrapper.writer():
            await node.store.rollback_to_block(1)
            assert await node.record(second) is None
            await node.block(3, [FIRST], [child(FIRST, OTHER)])
            assert (await node.record(FIRST)).spent_block_index == 3  # type: ignore[union-attr]
            raise LookupError
    assert await node.record(child(FIRST, OTHER)) is None
    assert (await node.record(FIRST)).spent_block_index == 2  # type: ignore[union-attr]
    await node.block(3, [second], [])
    assert (await node.record(second)).spent_block_index == 3  # type: ignore[union-attr]


async def test_a_savepoint_may_fail_alone(node: Node) -> None:
    second = child(FIRST)
    async with node.wrapper.writer():
        await node.block(1, [], [FIRST])
        with pytest.raises(LookupError):  # noqa: PT012 - the transaction is what fails
            async with node.wrapper.writer():
                await node.block(2, [FIRST], [])
                raise LookupError
        assert (await node.record(FIRST)).spent_block_index == 0  # type: ignore[union-attr]
        await node.block(2, [FIRST], [second])
    assert (await node.record(FIRST)).spent_block_index == 2  # type: ignore[union-attr]
    assert len(await node.store.get_coins_added_at_height(uint32(2))) == 3


async def test_others_see_what_is_committed(tmp_path: Path) -> None:
    async with opened(tmp_path / "node.sqlite") as node:
        await node.block(1, [], [FIRST])
        async with node.wrapper.writer():
            await node.block(2, [FIRST], [])
            beside = await asyncio.create_task(node.record(FIRST))
            assert beside is not None
            assert beside.spent_block_index == 0
            assert (await node.record(FIRST)).spent_block_index == 2  # type: ignore[union-attr]
        beside = await asyncio.create_task(node.record(FIRST))
        assert beside is not None
        assert beside.spent_block_index == 2


async def test_a_second_store_and_a_file_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "node.sqlite"
    async with opened(path) as node:
        await node.block(1, [], [FIRST])
        second = Node(await chia_coin_store.CoinStore.create(node.wrapper), node.wrapper)
        await second.block(2, [FIRST], [child(FIRST)])
        assert await second.lineage() == await node.lineage() is not None
    async with opened(path) as node:
        assert await node.lineage() == info(child(FIRST), FIRST)
        assert await node.store.num_unspent() == 5


async def test_the_newest_block_may_be_extended(node: Node) -> None:
    """As chia's simulator does with its first two blocks."""
    await node.block(1, [], [FIRST])
    more = [Coin(bytes32([number] * 16 + [0] * 16), OTHER, uint64(1)) for number in (8, 9)]
    second = child(FIRST)
    addition = (second.name(), second, True)
    await node.store.new_block(uint32(1), uint64(50_001), more, [addition], [FIRST.name()])
    added = await node.store.get_coins_added_at_height(uint32(1))
    assert {record.coin for record in added} == {FIRST, second, *rewards(1), *more}
    assert (await node.record(FIRST)).spent_block_index == 1  # type: ignore[union-attr]
    await node.store._set_spent([more[0].name()], uint32(1))
    assert (await node.record(more[0])).spent_block_index == 1  # type: ignore[union-attr]


@pytest.mark.parametrize("spends", [[LAUNCHER], [FIRST, FIRST]], ids=["unknown", "twice"])
async def test_a_wrong_spend_is_refused(node: Node, spends: list[Coin]) -> None:
    await node.block(1, [], [FIRST])
    with pytest.raises(ValueError, match="Invalid operation to set spent, total updates"):
        async with node.wrapper.writer():
            await node.block(2, spends, [])
    assert await node.store.get_coins_added_at_height(uint32(2)) == []
    await node.block(2, [FIRST], [])
    with pytest.raises(ValueError, match="total updates 0 expected 1"):
        async with node.wrapper.writer():
            await node.block(3, [FIRST], [])


async def test_a_coin_that_is_there_is_refused(node: Node) -> None:
    await node.block(1, [], [FIRST])
    for coins in ([FIRST], [LAUNCHER, LAUNCHER]):
        with pytest.raises(sqlite3.IntegrityError):
            async with node.wrapper.writer():
                await node.block(2, [], coins)
    assert await node.store.num_unspent() == 3


async def test_what_is_no_block_is_an_assertion(node: Node) -> None:
    for height, n_rewards in ((0, 2), (1, 1), (1, 0)):
        paid = rewards(1)[:n_rewards]
        with pytest.raises(AssertionError):
            await node.store.new_block(uint32(height), uint64(1), paid, [], [])


async def test_hinted_coins_come_once_and_blocks_whole(node: Node) -> None:
    hint = OTHER
    made = [Coin(bytes32([number] * 32), SINGLETON, uint64(number)) for number in range(1, 16)]
    made[::3] = [Coin(coin.parent_coin_info, hint, coin.amount) for coin in made[::3]]
    for height in range(1, 6):
        await node.block(height, [], made[3 * height - 3 : 3 * height])
    await HintStore(node.wrapper).add_hints([(coin.name(), hint) for coin in made])
    ask = node.store.batch_coin_states_by_puzzle_hashes
    states, following = await ask([hint])
    assert (len(states), following) == (25, None)  # three and two rewards a block
    states, following = await ask([hint], max_items=12)
    assert ([state.created_height for state in states], following) == ([1] * 5 + [2] * 5, 3)
    assert await ask([hint], max_items=4) == ([], 1)
    states, following = await ask([hint], include_hinted=False)
    assert (len(states), following) == (15, None)
    states, following = await ask([hint], min_height=uint32(5), min_amount=uint64(14))
    assert ({state.coin.amount for state in states}, following) == ({14, 15}, None)
    assert await ask([hint], include_spent=False, include_unspent=False) == ([], None)
