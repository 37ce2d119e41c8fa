"""A store keeps the contract for its backend: what it asks of it, and when no more."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from cdb.building import starter
from cdb.contract.blocks import BlockSpendInfo, NamedBlock
from cdb.contract.coins import Coin, CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.contract.packed import PackedBlocks
from cdb.disk.home import FORMAT_FILE, schema_at
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseLockedError,
    InvalidBlockError,
    StorageError,
    UnknownCoinError,
    UnsupportedError,
    WrongDatabaseError,
)
from cdb.front.store import READ_ENTRIES, Store, open_backend
from cdb.schemas import find_schema
from cdb.testing.chains import block_at, hash_of
from tests.engines import OTHER

WRITES = {"add", "commit", "rewind"}


class Told:
    """A backend that keeps what it is told. fails: at which call."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[str] = []
        self.fails = fails
        self._indices: list[int] = []

    @property
    def newest_index(self) -> int | None:
        return self._indices[-1] if self._indices else None

    def find(self, names: Sequence[bytes32]) -> list[CoinInfo | None]:
        self._take("find")
        return [None] * len(names)

    def add(self, block: NamedBlock) -> None:
        self._take("add")
        self._indices.append(block.index)

    def commit(self) -> None:
        self._take("commit")

    def rewind(self, block_index: int) -> None:
        self._take("rewind")
        self._indices = [index for index in self._indices if index <= block_index]

    def block(self, block_index: int) -> BlockSpendInfo | None:
        self._take("block")
        return None

    def blocks(self) -> Iterator[BlockSpendInfo]:
        self._take("blocks")
        return iter(())

    def close(self) -> None:
        self._take("close")

    def _take(self, call: str) -> None:
        self.calls.append(call)
        if call == self.fails:
            raise StorageError("here", "the disk fails")


def released_store(backend: Told, *, read_only: bool = False) -> tuple[Store, list[str]]:
    """A store, and the list into which it releases."""
    released: list[str] = []
    return Store(
        "here", backend, lambda: released.append("released"), read_only=read_only
    ), released


def test_a_block_is_checked_before_the_backend_gets_it() -> None:
    backend = Told()
    store, _ = released_store(backend)
    with pytest.raises(UnknownCoinError):
        store.accept_block(BlockSpendInfo(1, 0, [hash_of("nobody")], []))
    assert {*backend.calls} == {"find"}
    store.accept_block(block_at(1))
    assert backend.calls[-2:] == ["find", "add"]
    assert store.last_block_index == 1


@pytest.mark.parametrize("fails", sorted(WRITES))
def test_after_a_failed_write_nothing_is_asked_of_the_backend_but_to_close(fails: str) -> None:
    backend = Told()
    store, released = released_store(backend)
    store.accept_block(block_at(1))
    backend.fails = fails
    writes: dict[str, Callable[[], object]] = {
        "add": lambda: store.accept_block(block_at(2, 1)),
        "commit": store.flush,
        "rewind": lambda: store.rewind_to_block_index(0),
    }
    with pytest.raises(StorageError):
        writes[fails]()
    backend.calls.clear()
    calls: tuple[Callable[[], object], ...] = (
        lambda: store.accept_block(block_at(3, 2)),
        store.flush,
        lambda: store.rewind_to_block_index(0),
        lambda: store.coin_infos_for_coin_names([hash_of(1)]),
        lambda: store.block_info_for_block_index(1),
        store.blocks,
    )
    for call in calls:
        with pytest.raises(DatabaseClosedError, match="the disk fails"):
            call()
    store.close()
    assert backend.calls == ["close"]
    assert released == ["released"]


def test_a_failed_read_is_not_final() -> None:
    backend = Told("find")
    store, _ = released_store(backend)
    with pytest.raises(StorageError):
        store.coin_infos_for_coin_names([hash_of(1)])
    backend.fails = ""
    assert store.coin_infos_for_coin_names([hash_of(1)]) == []


def test_read_only_the_backend_is_told_to_write_nothing() -> None:
    backend = Told()
    store, _ = released_store(backend, read_only=True)
    store.flush()
    assert list(store.blocks()) == []
    with pytest.raises(UnsupportedError):
        store.accept_block(block_at(1))
    with pytest.raises(UnsupportedError):
        store.rewind_to_block_index(-1)
    store.close()
    assert not WRITES & {*backend.calls}


def test_a_rewind_to_the_newest_block_or_above_only_commits() -> None:
    backend = Told()
    store, _ = released_store(backend)
    store.rewind_to_block_index(-1)
    store.accept_block(block_at(5))
    for index in (5, 6, 10**30):
        store.rewind_to_block_index(index)
    assert "rewind" not in backend.calls
    assert backend.calls.count("commit") == 4
    store.rewind_to_block_index(4)
    assert backend.calls[-1] == "rewind"


def test_an_iteration_begins_when_all_is_committed() -> None:
    backend = Told()
    store, _ = released_store(backend)
    store.blocks()
    assert backend.calls == ["commit", "blocks"]


def test_whatever_fails_in_a_close_all_is_released_and_a_second_one_commits_nothing() -> None:
    backend = Told("commit")
    store, released = released_store(backend)
    with pytest.raises(StorageError):
        store.close()
    assert backend.calls == ["commit", "close"]
    assert released == ["released"]
    store.close()
    assert backend.calls == ["commit", "close", "close"]


# Opening


open_starter = partial(open_backend, "theirs", starter.Blocks)


def test_the_directory_says_whose_it_is(tmp_path: Path) -> None:
    path = tmp_path / "db"
    open_starter(path, version=3).close()
    assert schema_at(path) == ("theirs", 3)
    with pytest.raises(WrongDatabaseError, match="theirs 3, and this cdb reads theirs 2"):
        open_starter(path, version=2)
    with pytest.raises(WrongDatabaseError, match="open it with that schema, not with others"):
        open_backend("others", starter.Blocks, path)


def test_a_backend_that_does_not_open_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "db"

    def fails(path: Path, *, durability: Durability, read_only: bool) -> Told:
        raise CorruptDatabaseError(path, "it is damaged")

    with pytest.raises(CorruptDatabaseError, match="it is damaged"):
        open_backend("theirs", fails, path)
    assert (path / FORMAT_FILE).exists()
    with open_starter(path), pytest.raises(DatabaseLockedError):
        open_starter(path)


def test_a_reader_looks_again_where_a_writer_has_changed_what_looks_damaged(tmp_path: Path) -> None:
    path = tmp_path / "db"
    open_starter(path).close()
    times = []

    def opened(path: Path, *, durability: Durability, read_only: bool) -> Told:
        times.append(read_only)
        if len(times) < 3:
            (path / "written").write_bytes(bytes(len(times)))
            raise CorruptDatabaseError(path, "half of it is new")
        return Told()

    open_backend("theirs", opened, path, read_only=True).close()
    assert times == [True] * 3
    times.clear()
    with pytest.raises(CorruptDatabaseError):
        open_backend("theirs", opened, path)
    assert times == [False]


def test_a_folder_of_the_backends_own_is_let_be(tmp_path: Path) -> None:
    path = tmp_path / "db"

    def opened(path: Path, *, durability: Durability, read_only: bool) -> Told:
        (path / "data").mkdir(exist_ok=True)
        return Told()

    for _ in range(2):
        open_backend("theirs", opened, path, folder="data").close()
    with pytest.raises(CorruptDatabaseError, match="this is no file"):
        open_backend("theirs", opened, path)


def test_blocks_before_damage_are_given_however_many_a_pack_takes() -> None:
    class Damaged(Told):
        def blocks(self) -> Iterator[BlockSpendInfo]:
            yield from map(block_at, range(40))
            raise CorruptDatabaseError("here", "block 40 is damaged")

    for each in (Store.blocks, Store.blocks_packed):
        store, _ = released_store(Damaged())
        read: list[BlockSpendInfo | PackedBlocks] = []
        with pytest.raises(CorruptDatabaseError, match="block 40"):
            read.extend(each(store))
        assert sum(len(found) if isinstance(found, PackedBlocks) else 1 for found in read) == 40


def test_a_reader_ends_between_two_steps_of_what_reads_from_it() -> None:
    at_it, go_on = Event(), Event()

    class Slow(Told):
        def blocks(self) -> Iterator[BlockSpendInfo]:
            for index in (1, 1 + READ_ENTRIES):
                at_it.set()
                assert go_on.wait(60)
                assert "close" not in self.calls
                yield block_at(index, coins=READ_ENTRIES)

    store, _ = released_store(Slow(), read_only=True)
    blocks = store.blocks()
    with ThreadPoolExecutor(2) as threads:
        reading = threads.submit(next, blocks)
        assert at_it.wait(60)
        closing = threads.submit(store.close)
        assert wait([closing], timeout=0.1).not_done
        go_on.set()
        assert reading.result().index == 1
        closing.result()
    with pytest.raises(DatabaseClosedError):
        next(blocks)


def test_what_a_store_could_not_be_made_of_is_closed(tmp_path: Path) -> None:
    backend = Told()

    class Unmade(Store):
        def __init__(self, *_: object, **__: object) -> None:
            raise AttributeError("reads_beside")

    with pytest.raises(AttributeError, match="reads_beside"):
        open_backend("theirs", lambda path, **_: backend, tmp_path / "db", kind=Unmade)
    assert backend.calls == ["close"]
    open_backend("theirs", lambda path, **_: Told(), tmp_path / "db").close()


@pytest.mark.parametrize("name", ["coin_log", f"interval@{OTHER}", "sqlite_v3", "blockchain_v2"])
def test_no_schema_keeps_what_no_store_could_be_made_of(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, path = find_schema(name), tmp_path / "db"
    if schema.missing is not None:
        pytest.skip(schema.missing)

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(Store, "__init__", fail)
        with pytest.raises(MemoryError) as held:
            schema.open(path)
    schema.open(path).close()
    assert held.value.__traceback__ is not None  # what opened it was there until now


@pytest.mark.parametrize("schema", ["coin_log", "sqlite_v3"])
def test_a_block_that_can_be_gone_over_but_once_is_refused_for_what_is_wrong(
    schema: str, tmp_path: Path
) -> None:
    coin = Coin(hash_of("parent"), hash_of("puzzle"), 2**64)
    once: Any = (each for each in [coin])
    with find_schema(schema).open(tmp_path / "db") as store:
        with pytest.raises(InvalidBlockError) as refused:
            store.accept_block(BlockSpendInfo(1, 0, [], once))
        assert refused.value.block_index == 1
