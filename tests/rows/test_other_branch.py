"""Two branches may have as many coins and the same last one: no index of the other is taken."""

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from cdb import BlockSpendInfo, Coin, Schema
from cdb.contract.durability import Durability
from cdb.errors import CorruptDatabaseError, StorageError
from cdb.schemas import SchemaInfo, find_schema
from cdb.schemas.memory import MemorySchema
from cdb.stores.rows import opening
from cdb.stores.rows.coin_rows import CoinRows
from cdb.stores.rows.names import IndexedNames, StaleIndexError
from cdb.stores.rows.sqlite import Connection
from cdb.stores.rows.stored import block_checksum
from cdb.testing.chains import hash_of
from tests.conftest import copy_at_rest, index_factories

COINS = 30
NOT_COPIED = "*-shm", "LOCK"
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


def flush(schema: Schema, *blocks: BlockSpendInfo) -> None:
    """Have the blocks in the rows, and not in the index."""
    for each in blocks:
        schema.accept_block(each)
    schema.flush()


def accept(schema: Schema, *blocks: BlockSpendInfo) -> None:
    flush(schema, *blocks)
    schema.settle()  # type: ignore[attr-defined]


def put_back(part: str, before: Path, path: Path) -> None:
    """Of the two parts, the folder index/ and the rows, one as it was."""
    if part == "index":
        copy_at_rest(before / "index", path / "index", *NOT_COPIED)
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


def test_a_coin_that_rows_hold_twice_is_damage_of_theirs(store: SchemaInfo, path: Path) -> None:
    """As was accepted by whoever had an index of another branch."""
    coin = FIRST.confirms[0]
    row = (coin.parent_coin_name, coin.puzzle_hash, coin.amount.to_bytes(8, "big"))
    checksum = block_checksum(LAST.index, LAST.timestamp, b"", b"".join(row))
    with closing(sqlite3.connect(path / "coins.sqlite")) as connection, connection:
        change = "UPDATE coin SET parent = ?, puzzle_hash = ?, amount = ? WHERE id = ?"
        connection.execute(change, (*row, 2 * COINS + 1))
        connection.execute("UPDATE block SET checksum = ? WHERE block_index = 3", (checksum,))
    (damage,) = store.check(path, lambda coins: None)
    assert (damage.path.name, damage.repairable_from) == ("coins.sqlite", None)
    assert "twice" in damage.problem
    shutil.rmtree(path / "index")
    damages = list(store.check(path, lambda coins: None))
    assert [each.path.name for each in damages] != ["coins.sqlite"]
    with pytest.raises(CorruptDatabaseError, match=r"coins\.sqlite: coin .* twice"):
        store.repair(path, damages, lambda coins: None)
    shutil.rmtree(path / "index")
    with pytest.raises(CorruptDatabaseError, match=r"coins\.sqlite: coin .* twice"):
        find_schema(store.name.partition(":")[0]).open(path).close()


@pytest.mark.parametrize("name", index_factories())
def test_a_rewind_of_what_the_index_does_not_hold_leaves_it(name: str, tmp_path: Path) -> None:
    store = find_schema(name)
    with store.open(tmp_path / "db") as schema:
        accept(schema, FIRST)
        schema.accept_block(ONE[1])
        schema.rewind_to_block_index(1)
    with store.open(tmp_path / "db") as schema:
        assert list(found(schema)) == right(FIRST)


def test_a_rewind_and_its_branch_are_one_transaction(
    store: SchemaInfo, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    committed = []
    execute = sqlite3.Connection.execute

    def noted(connection: sqlite3.Connection, statement: str, *values: Any) -> Any:
        cursor = execute(connection, statement, *values)
        if statement == "COMMIT":
            committed.append((blocks_in(path), branches_of(path)))
        return cursor

    before = blocks_in(path), branches_of(path)
    with store.open(path) as schema:
        monkeypatch.setattr(Connection, "execute", noted)
        schema.rewind_to_block_index(1)
        monkeypatch.undo()
    assert {before, *committed} == {(3, 3), (1, 4)}


def blocks_in(path: Path) -> int:
    return told(path, "SELECT count(*) FROM block")


def branches_of(path: Path) -> int:
    """One of each of the three openings that changed the rows, at first."""
    return told(path, "SELECT count(*) FROM branch")


def told(path: Path, question: str) -> int:
    with closing(sqlite3.connect(path / "coins.sqlite")) as connection:
        number: int = connection.execute(question).fetchone()[0]
    return number


def test_what_a_power_cut_leaves_at_process_is_mended_at_power(
    store: SchemaInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the sync of the rows and the last names of the index; and ahead of both."""
    path, left = tmp_path / "db", tmp_path / "left"
    with store.open(path, durability=Durability.PROCESS) as schema:
        accept(schema, *ONE)
        schema.rewind_to_block_index(1)
        copy_at_rest(path, tmp_path / "before", *NOT_COPIED)
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
        copy_at_rest(path / "index", left / "index", *NOT_COPIED)
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


@pytest.fixture(params=index_factories())
def large(request: pytest.FixtureRequest) -> SchemaInfo:
    """A store whose index gets nothing before it is settled or closed."""
    return find_schema(request.param)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_rewind_that_does_not_reach_the_index_is_a_branch_too(
    large: SchemaInfo, tmp_path: Path, read_only: bool
) -> None:
    path = tmp_path / "db"
    with large.open(path) as schema:
        accept(schema, FIRST)
        flush(schema, *ONE[1:])
        copy_at_rest(path, tmp_path / "before", *NOT_COPIED)
        schema.rewind_to_block_index(1)
        accept(schema, *OTHER[1:])
    put_back("rows", tmp_path / "before", path)
    with pytest.raises(StaleIndexError):
        large.open(path, read_only=read_only).close()


def test_a_reader_takes_no_index_of_the_next_moments_branch(
    large: SchemaInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its look at the rows and at their index the writer rewinds, and goes on."""
    path = tmp_path / "db"
    with large.open(path) as schema:
        accept(schema, FIRST)
        flush(schema, *ONE[1:])

        def late(*args: Any, **options: Any) -> IndexedNames:
            monkeypatch.undo()
            schema.rewind_to_block_index(1)
            accept(schema, *OTHER[1:])
            return IndexedNames(*args, **options)

        monkeypatch.setattr(opening, "IndexedNames", late)
        with large.open(path, read_only=True) as reader:
            assert list(found(reader)) == right(*OTHER)


@pytest.mark.parametrize("is_lost", [False, True])
def test_an_index_that_reached_further_once_is_refused(
    large: SchemaInfo, tmp_path: Path, is_lost: bool
) -> None:
    """Before a rewind that did not reach the index, as that was lost, or rewound in vain."""
    path = tmp_path / "db"
    with large.open(path) as schema:
        accept(schema, *ONE)
    shutil.copytree(path, tmp_path / "before")
    with large.open(path) as schema:
        schema.rewind_to_block_index(0)
    shutil.copytree(path, tmp_path / "rewound")
    put_back("rows", tmp_path / "before", path)
    put_back("index", tmp_path / "rewound", path)
    if is_lost:
        shutil.rmtree(path / "index")
    with large.open(path) as schema:
        schema.rewind_to_block_index(1)
        accept(schema, *OTHER[1:])
    put_back("index", tmp_path / "before", path)
    with pytest.raises(StaleIndexError):
        large.open(path).close()


def test_an_index_that_was_rewound_in_vain_is_refused_after_the_next_rewind(
    store: SchemaInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds as many rows as the other branch, which end in the same coin."""
    path = tmp_path / "db"
    with store.open(path) as schema:
        accept(schema, *ONE, block(4, "more"))

    def cut_short(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as cutting:
        cutting.setattr(CoinRows, "rewind", cut_short)
        with suppress(KeyboardInterrupt), store.open(path) as schema:
            schema.rewind_to_block_index(LAST.index)
    shutil.copytree(path, tmp_path / "before")
    with store.open(path) as schema:
        schema.rewind_to_block_index(1)
        accept(schema, *OTHER[1:])
    put_back("index", tmp_path / "before", path)
    with pytest.raises(StaleIndexError):
        store.open(path).close()


@pytest.mark.parametrize("is_restored", [False, True])
def test_an_index_of_another_database_is_refused(
    store: SchemaInfo, tmp_path: Path, is_restored: bool
) -> None:
    """Or of what this one had become before it was restored from a copy."""
    here, there = tmp_path / "here", tmp_path / "there"
    if is_restored:
        with store.open(here) as schema:
            accept(schema, FIRST)
        shutil.copytree(here, there)
    for path, blocks in ((here, ONE), (there, OTHER)):
        with store.open(path) as schema:
            accept(schema, *(blocks[1:] if is_restored else blocks))
    put_back("index", there, here)
    with pytest.raises(StaleIndexError):
        store.open(here).close()


@pytest.mark.parametrize("name", ["flat_file", "sqlite_row"])
def test_a_run_of_an_index_of_before_is_refused(name: str, tmp_path: Path) -> None:
    """It is of as many rows, and the oldest run of its index, as the one in its place is."""
    store, path = find_schema(name), tmp_path / "db"
    with store.open(path) as schema:
        accept(schema, *ONE)
    (old,) = path.glob("index/run-*")
    old.rename(tmp_path / old.name)
    shutil.rmtree(path / "index")
    with store.open(path) as schema:
        schema.rewind_to_block_index(0)
        accept(schema, *OTHER)
    (new,) = path.glob("index/run-*")
    (tmp_path / old.name).replace(new)
    with pytest.raises(CorruptDatabaseError, match="another"):
        store.open(path).close()


@pytest.mark.parametrize("name", ["flat_file", "sqlite_row"])
def test_a_run_of_a_copy_that_went_another_way_is_refused(name: str, tmp_path: Path) -> None:
    """It comes behind the same runs, and is of as many rows."""
    store, here, there = find_schema(name), tmp_path / "here", tmp_path / "there"
    with store.open(here) as schema:
        accept(schema, FIRST)
    shutil.copytree(here, there)
    runs: list[Path] = []
    for path, blocks in ((here, ONE), (there, OTHER)):
        old = {*path.glob("index/run-*")}
        with store.open(path) as schema:
            accept(schema, *blocks[1:])
        runs += {*path.glob("index/run-*")} - old
    runs[1].replace(runs[0])
    with pytest.raises(CorruptDatabaseError, match="another"):
        store.open(here).close()


def test_what_a_killed_process_left_at_none_is_synced_before_the_index(
    store: SchemaInfo, tmp_path: Path
) -> None:
    path, left = tmp_path / "db", tmp_path / "left"
    with store.open(path, durability=Durability.NONE) as schema:
        accept(schema, *ONE)
        copy_at_rest(path, left, *NOT_COPIED)
    assert (left / "coins.sqlite-wal").stat().st_size
    with store.open(left, durability=Durability.PROCESS):
        copy_at_rest(left, tmp_path / "synced", *NOT_COPIED, "coins.sqlite-wal")
    with store.open(tmp_path / "synced") as schema:
        assert list(found(schema)) == right(*ONE)


@pytest.mark.parametrize("durability", [Durability.PROCESS, Durability.POWER])
def test_what_was_written_at_none_is_synced_by_who_promises_more(
    store: SchemaInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability
) -> None:
    path = tmp_path / "db"
    with store.open(path, durability=Durability.NONE) as schema:
        accept(schema, *ONE)
    ours = {path, path / "coins.sqlite"}
    for name in ("lookup.sqlite", "run-*", "manifest"):
        ours |= {each for file in path.glob(f"index/{name}") for each in (file, file.parent)}
    unsynced = {each.stat().st_ino for each in ours}
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        unsynced.discard(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", noted)
    with store.open(path, durability=durability):
        assert unsynced == set()


def test_two_rewinds_that_a_power_cut_takes_at_process_leave_a_sound_database(
    store: SchemaInfo, path: Path
) -> None:
    shutil.copytree(path, path.parent / "synced")
    with store.open(path, durability=Durability.PROCESS) as schema:
        for height in (2, 1):
            schema.rewind_to_block_index(height)
    put_back("rows", path.parent / "synced", path)
    for read_only in (True, False):
        with store.open(path, read_only=read_only) as schema:
            assert list(found(schema)) == right(*OTHER)


@pytest.mark.parametrize("files", [1, 2, 5])
def test_who_is_killed_while_an_index_is_thrown_away_leaves_none(
    store: SchemaInfo, path: Path, monkeypatch: pytest.MonkeyPatch, files: int
) -> None:
    put_back("index", path.parent / "before-1", path)
    removed = []
    unlink = os.unlink

    def cut_short(*args: Any, **options: Any) -> None:
        removed.append(args)
        if len(removed) == files:
            raise KeyboardInterrupt
        unlink(*args, **options)

    with monkeypatch.context() as cutting:
        cutting.setattr(os, "unlink", cut_short)
        with suppress(KeyboardInterrupt):
            store.open(path, durability=Durability.PROCESS).close()
    assert removed
    for durability in (Durability.POWER, Durability.PROCESS):
        with store.open(path, durability=durability) as schema:
            assert list(found(schema)) == right(*OTHER)
    assert {each.name for each in path.iterdir()} <= {"FORMAT", "LOCK", "coins.sqlite", "index"}


def test_an_index_that_can_not_be_thrown_away_is_an_error_of_ours(
    store: SchemaInfo, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_back("index", path.parent / "before-1", path)

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(StorageError, match="EACCES"):
        store.open(path, durability=Durability.PROCESS).close()


def keep_as_synced(path: Path, left: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copy the database to left each time that the -wal of its rows has been synced."""
    fsync = os.fsync

    def kept_as_synced(descriptor: int) -> None:
        fsync(descriptor)
        if is_same(descriptor, path / "coins.sqlite-wal"):
            copy_at_rest(path, left, *NOT_COPIED)

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
