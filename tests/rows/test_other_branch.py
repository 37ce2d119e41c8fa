"""Two branches may have as many coins and the same last one: no index of the other is taken."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdb import BlockSpendInfo, Coin, Schema
from cdb.contract.durability import Durability
from cdb.errors import CorruptDatabaseError
from cdb.schemas import SchemaInfo, find_schema
from cdb.schemas.memory import MemorySchema
from cdb.stores.rows.sqlite import Connection
from cdb.testing.chains import hash_of
from tests.conftest import index_factories

COINS = 30
NOT_COPIED = shutil.ignore_patterns("*-shm", "LOCK")
LAST = BlockSpendInfo(3, 3, [], [Coin(hash_of("last"), hash_of("puzzle"), 1)])


def block(index: int, tag: str) -> BlockSpendInfo:
    coins = [Coin(hash_of(tag, n), hash_of("puzzle"), n) for n in range(COINS)]
    return BlockSpendInfo(index, index, [], coins)


FIRST = block(1, "first")
ONE, OTHER = (FIRST, block(2, "one"), LAST), (FIRST, block(2, "other"), LAST)


@pytest.fixture(params=index_factories())
def store(request: pytest.FixtureRequest) -> SchemaInfo:
    name: str = request.param
    return find_schema(find_schema(name).small or name)


@pytest.fixture
def path(store: SchemaInfo, tmp_path: Path) -> Path:
    """A database of the other branch. What it was lies beside it: of the one branch in before-1,
    rewound in before-2."""
    path = tmp_path / "db"
    with store.open(path) as schema:
        accept(schema, *ONE)
    shutil.copytree(path, tmp_path / "before-1")
    with store.open(path) as schema:
        schema.rewind_to_block_index(1)
    shutil.copytree(path, tmp_path / "before-2")
    with store.open(path) as schema:
        accept(schema, *OTHER[1:])
    return path


def accept(schema: Schema, *blocks: BlockSpendInfo) -> None:
    for each in blocks:
        schema.accept_block(each)
    schema.flush()
    schema.settle()  # type: ignore[attr-defined]


def put_back(part: str, before: Path, path: Path) -> None:
    """Of the two parts, the folder index/ and the rows, one as it was."""
    if part == "index":
        shutil.rmtree(path / "index")
        shutil.copytree(before / "index", path / "index")
        return
    for file in path.glob("coins.sqlite*"):
        file.unlink()
    for file in before.glob("coins.sqlite*"):
        shutil.copy(file, path)


def found(schema: Schema) -> Iterator[object]:
    names = [coin.name() for each in (*ONE, *OTHER) for coin in each.confirms]
    yield schema.coin_infos_for_coin_names(names)
    yield list(schema.blocks())


def right(*blocks: BlockSpendInfo) -> list[object]:
    model = MemorySchema()
    for each in blocks:
        model.accept_block(each)
    return list(found(model))


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("part", ["index", "rows"])
def test_a_part_of_the_branch_before_is_refused(
    store: SchemaInfo, path: Path, part: str, read_only: bool
) -> None:
    put_back(part, path.parent / "before-1", path)
    with pytest.raises(CorruptDatabaseError, match="commits were lost"):
        store.open(path, read_only=read_only).close()
    assert store.spec.check is not None
    assert [each.repairable_from for each in store.spec.check(path, lambda coins: None)]


@pytest.mark.parametrize(("part", "blocks"), [("index", OTHER), ("rows", ONE)])
def test_where_power_loss_may_take_rows_it_is_made_again(
    store: SchemaInfo, path: Path, part: str, blocks: tuple[BlockSpendInfo, ...]
) -> None:
    put_back(part, path.parent / "before-1", path)
    for _ in range(2):
        with store.open(path, durability=Durability.PROCESS) as schema:
            assert list(found(schema)) == right(*blocks)


def test_a_repaired_index_is_of_the_rows_as_they_are(store: SchemaInfo, path: Path) -> None:
    put_back("index", path.parent / "before-1", path)
    store.repair(path, list(store.check(path, lambda coins: None)), lambda coins: None)
    with store.open(path) as schema:
        assert list(found(schema)) == right(*OTHER)


@pytest.mark.parametrize("name", index_factories())
def test_a_rewind_of_what_the_index_does_not_hold_leaves_it(name: str, tmp_path: Path) -> None:
    store = find_schema(name)
    with store.open(tmp_path / "db") as schema:
        accept(schema, FIRST)
        schema.accept_block(ONE[1])
        schema.rewind_to_block_index(1)
    with store.open(tmp_path / "db") as schema:
        assert list(found(schema)) == right(FIRST)


def test_a_rewind_and_its_number_are_one_transaction(
    store: SchemaInfo, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = []
    execute = sqlite3.Connection.execute

    def noted(connection: sqlite3.Connection, statement: str, *values: Any) -> Any:
        cursor = execute(connection, statement, *values)
        if statement == "COMMIT":
            committed.append((blocks_in(path), rewinds_of(path)))
        return cursor

    before = blocks_in(path), rewinds_of(path)
    with store.open(path) as schema:
        monkeypatch.setattr(Connection, "execute", noted)
        schema.rewind_to_block_index(1)
        monkeypatch.undo()
    assert {before, *committed} == {(3, 1), (1, 2)}


def blocks_in(path: Path) -> int:
    return told(path, "SELECT count(*) FROM block")


def rewinds_of(path: Path) -> int:
    return told(path, "PRAGMA user_version")


def told(path: Path, question: str) -> int:
    with closing(sqlite3.connect(path / "coins.sqlite")) as connection:
        number: int = connection.execute(question).fetchone()[0]
    return number


def test_a_number_of_rewinds_that_nobody_writes_is_damage(store: SchemaInfo, path: Path) -> None:
    with closing(sqlite3.connect(path / "coins.sqlite")) as connection:
        connection.execute("PRAGMA user_version=-2")
    with pytest.raises(CorruptDatabaseError, match="commits were lost"):
        store.open(path).close()


def test_what_a_power_cut_leaves_at_process_is_mended_at_power(
    store: SchemaInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the sync of the rows and the last names of the index; and ahead of both."""
    path, left = tmp_path / "db", tmp_path / "left"
    with store.open(path, durability=Durability.PROCESS) as schema:
        accept(schema, *ONE)
        schema.rewind_to_block_index(1)
        shutil.copytree(path, tmp_path / "before", ignore=NOT_COPIED)
        keep_as_synced(path, left, monkeypatch)
        accept(schema, *OTHER[1:])
        shutil.copytree(left, tmp_path / "synced")
        put_back("index", path, tmp_path / "synced")
    put_back("rows", tmp_path / "before", left)
    for place, blocks in ((tmp_path / "synced", OTHER), (left, (FIRST,))):
        with store.open(place) as schema:
            assert list(found(schema)) == right(*blocks)


def test_what_a_power_cut_leaves_of_a_new_database_at_process_opens_at_power(
    store: SchemaInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, left = tmp_path / "db", tmp_path / "left"
    keep_as_synced(path, left, monkeypatch)
    with store.open(path, durability=Durability.PROCESS):
        shutil.copytree(path / "index", left / "index")
    with store.open(left) as schema:
        assert list(found(schema)) == right()


def test_at_process_the_name_of_the_wal_is_synced_with_it(
    store: SchemaInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "db"
    synced: list[int] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", noted)
    with store.open(path, durability=Durability.PROCESS) as schema:
        accept(schema, FIRST)
        wal = (path / "coins.sqlite-wal").stat().st_ino
    assert synced[synced.index(wal) + 1] == path.stat().st_ino


def keep_as_synced(path: Path, left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy the database to left each time that the -wal of its rows has been synced."""
    fsync = os.fsync

    def kept_as_synced(descriptor: int) -> None:
        fsync(descriptor)
        if is_same(descriptor, path / "coins.sqlite-wal"):
            shutil.rmtree(left, ignore_errors=True)
            shutil.copytree(path, left, ignore=NOT_COPIED)

    monkeypatch.setattr(os, "fsync", kept_as_synced)


def is_same(descriptor: int, path: Path) -> bool:
    return path.exists() and os.path.samestat(os.fstat(descriptor), path.stat())


def test_an_index_that_was_rewound_and_got_no_further_is_right(
    store: SchemaInfo, path: Path
) -> None:
    """As a kill leaves it before the rows are rewound, and after that."""
    before = path.parent / "before-1"
    put_back("index", path.parent / "before-2", before)
    put_back("index", path.parent / "before-2", path)
    for place, blocks in ((before, ONE), (path, OTHER)):
        for _ in range(2):
            with store.open(place) as schema:
                assert list(found(schema)) == right(*blocks)
                schema.settle()  # type: ignore[attr-defined]
