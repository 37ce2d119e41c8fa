"""A node moves onto cdb's store and back: chia's own makes the file, and reads what returns."""

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("chia", reason="chia-blockchain is not installed here; make chia-tests has it")

from chia.cmds.db_backup_func import backup_db
from chia.full_node.hint_store import HintStore
from chia.util.db_version import set_db_version_async
from chia.util.db_wrapper import DBWrapper2

from cdb.chia import CoinStore
from cdb.chia.store import _THEIRS
from cdb.contract.progress import no_bar
from cdb.errors import CdbError, WrongDatabaseError
from cdb.node.log import log_path_of
from cdb.node.migrate import activation, dropping, migration, node_coins, reverting
from cdb.stores.rows.sqlite import tables_of
from tests.chia.chain import PUZZLES, Chain
from tests.node.made import indexes_of, rows_of

pytestmark = pytest.mark.anyio
TRANSACTIONS = 45


@pytest.fixture
def anyio_backend() -> str:
    """chia's wrapper of SQLite is asyncio's."""
    return "asyncio"


OPTIONS: dict[str, Any] = {"tell": lambda plan: None, "bar": no_bar}


@asynccontextmanager
async def store_of(kind: type[Any], path: Path) -> AsyncIterator[Any]:
    """A store of a file, and its end."""
    async with DBWrapper2.managed(path, db_version=2) as wrapper:
        store = await kind.create(wrapper)
        yield store
    if kind is CoinStore:
        store._follower.close()


async def grow(random: Random, chain_of: Path, stores: list[Any], transactions: int) -> None:
    """Add the same blocks to stores, and take some away; chain_of: a file with chia's table."""
    for _ in range(transactions):
        with closing(sqlite3.connect(chain_of)) as connection:
            select = (
                "SELECT coin_name, coin_parent, puzzle_hash, amount, confirmed_index, spent_index,"
                " timestamp FROM coin_record ORDER BY confirmed_index, coin_name"
            )
            chain = Chain(random, connection.execute(select).fetchall())
        if random.random() < 0.15:
            height = chain.height - random.choice([0, 1, 2, 5, 20])
            changes = [await store.rollback_to_block(height) for store in stores]
            assert all(each == changes[0] for each in changes)
            continue
        made = chain.block()
        made.height += not made.height  # no chain has coins at height 0
        rewards = made.rewards or [chain._reward(1), chain._reward(1)]
        for store in stores:
            arguments = (made.arguments[0], made.arguments[1], rewards, *made.arguments[3:])
            await store.new_block(*arguments)


@pytest.fixture
async def path(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A file that chia's store has made, closed."""
    path = tmp_path / "node.sqlite"
    async with DBWrapper2.managed(path, db_version=2) as wrapper:
        async with wrapper.writer_maybe_transaction() as connection:
            await set_db_version_async(connection, 2)
        await HintStore.create(wrapper)
        store = await _THEIRS.create(wrapper)
        await grow(Random(2), path, [store], TRANSACTIONS)
    return path


OURS = "SELECT puzzle_hash, coin_name FROM cdb_marked"
THEIRS = "SELECT puzzle_hash, coin_name FROM coin_record WHERE spent_index = -1"


def marked_in(path: Path, query: str) -> set[tuple[bytes, bytes]]:
    """The coins that a file has marked."""
    with closing(sqlite3.connect(path)) as connection:
        return {*connection.execute(query)}


async def lineages(store: Any) -> list[Any]:
    """Of all puzzle hashes."""
    return [await store.get_unspent_lineage_info_for_puzzle_hash(each) for each in PUZZLES]


@pytest.mark.parametrize("seed", range(3))
async def test_there_on_and_back(path: Path, tmp_path: Path, seed: int) -> None:
    """It goes on with cdb's store and, in another file, with chia's; what comes back is equal."""
    random = Random(seed)
    twin = Path(shutil.copy(path, tmp_path / "twin.sqlite"))
    done = migration.migrate(path, **OPTIONS)
    assert done.coins == len(rows_of(path)) > 100
    assert activation.activate(path, **OPTIONS) is not None
    assert marked_in(path, OURS) == marked_in(twin, THEIRS) != set()
    for part in range(3):
        async with store_of(CoinStore, path) as ours, store_of(_THEIRS, twin) as theirs:
            await grow(random, twin, [theirs, ours], TRANSACTIONS // 3)
            assert await ours.num_unspent() == await theirs.num_unspent()
            assert await lineages(ours) == await lineages(theirs)
        assert marked_in(path, OURS) == marked_in(twin, THEIRS)
        if part == 1 and seed % 2:
            dropping.drop(path, vacuum=True, **OPTIONS)
        if part == 1:  # what is lost is made again from the log
            with closing(sqlite3.connect(path)) as connection, connection:
                connection.execute("DROP TABLE cdb_marked")
    reverting.revert(path, **OPTIONS)
    with closing(sqlite3.connect(path)) as connection:
        assert not {name for name in tables_of(connection) if name.startswith("cdb_")}
    assert rows_of(path) == rows_of(twin)
    assert indexes_of(path) == indexes_of(twin)
    with pytest.raises(WrongDatabaseError, match="'cdb migrate' moves them"):
        async with store_of(CoinStore, path):
            pass
    async with store_of(_THEIRS, path) as back, store_of(_THEIRS, twin) as theirs:
        await grow(random, twin, [theirs, back], 10)
    assert rows_of(path) == rows_of(twin)
    activation.activate(path, **OPTIONS)
    dropping.drop(path, **OPTIONS)
    reverting.revert(path, **OPTIONS)
    assert rows_of(path) == rows_of(twin)


async def test_beside_a_node(path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """chia's store goes on, and back, between any two steps of the copy."""
    monkeypatch.setattr(node_coins, "CHUNK_ROWS", 40)
    monkeypatch.setattr(migration, "SLICE_SECONDS", 0.0)
    random = Random(2)
    async with store_of(_THEIRS, path) as theirs:
        for _ in range(4):
            await grow(random, path, [theirs], 3)
            migration.migrate(path, **OPTIONS)
        with pytest.raises(CdbError, match="stop the node"):
            activation.activate(path, **OPTIONS)
        await grow(random, path, [theirs], 3)
    expected = rows_of(path)
    activation.activate(path, **OPTIONS)
    dropping.drop(path, **OPTIONS)
    reverting.revert(path, **OPTIONS)
    assert rows_of(path) == expected


@pytest.mark.parametrize("step", ["activated", "dropped", "half reverted"])
async def test_a_plain_node_starts_neither_on_it_nor_on_a_copy(
    path: Path, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    activation.activate(path, **OPTIONS)
    if step != "activated":
        dropping.drop(path, **OPTIONS)
    if step == "half reverted":
        async with store_of(CoinStore, path) as ours:
            await ours.rollback_to_block(50)
        monkeypatch.setattr(reverting, "_verify", None)
        with pytest.raises(TypeError):
            reverting.revert(path, **OPTIONS)
    whole, tables = tmp_path / "whole.sqlite", tmp_path / "tables.sqlite"
    backup_db(path, whole, no_indexes=False)
    backup_db(path, tables, no_indexes=True)
    for file in (path, whole, tables):
        with pytest.raises(sqlite3.OperationalError, match="confirmed_index"):
            async with store_of(_THEIRS, file):
                pass
    async with store_of(CoinStore, path) as ours:
        assert await ours.num_unspent() > 0


@pytest.mark.parametrize("has_run", [False, True])
async def test_a_node_without_its_log_says_what_brings_the_coins_back(
    path: Path, has_run: bool
) -> None:
    activation.activate(path, **OPTIONS)
    expected = "'cdb migrate --revert .*' brings chia's own table back"
    if has_run:
        async with store_of(CoinStore, path) as ours:
            await ours.rollback_to_block(10)
        expected = "put both back from the same backup"
    shutil.rmtree(log_path_of(path))
    with pytest.raises(WrongDatabaseError, match=expected):
        async with store_of(CoinStore, path):
            pass
    assert not log_path_of(path).exists()
