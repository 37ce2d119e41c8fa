"""rocks_kv: the contract, packed blocks, and what crashes and damage leave."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from struct import iter_unpack

import pytest

from cdb.contents.state import summarize, verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coins import Coin, bytes32
from cdb.contract.packed import INFO_FORMAT, PackedBlocks
from cdb.disk import paths
from cdb.errors import (
    BlockError,
    CdbError,
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseNotFoundError,
    DuplicateCoinError,
    InvalidBlockError,
    MissingEngineError,
    StorageError,
    UnknownCoinError,
    UnsupportedError,
)
from cdb.schemas.memory import MemorySchema
from cdb.schemas.rocks_kv import KIND
from cdb.stores.coin_set.backend import PromisedSet
from cdb.stores.coin_set.binding import CoinSet
from cdb.stores.coin_set.schema import CoinSetSchema, cache_bytes
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import BREACHES, Chain, block_at, child, hash_of, reward, sample_chain
from tests.conftest import copy_at_rest, largest_file
from tests.engines import check_a_commit_fits

needs_rocksdb = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

opened = partial(CoinSetSchema, KIND)
SMALL = partial(opened, commit_entries=40, ingest_entries=15)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


@needs_rocksdb
class TestPackedBlocks:
    @pytest.mark.parametrize("open_schema", [opened, SMALL])
    @pytest.mark.parametrize("chunk", [1, 7, 200])
    def test_chunks_give_the_state_of_single_blocks(
        self, path: Path, open_schema: Callable[[Path], CoinSetSchema], chunk: int
    ) -> None:
        chain = sample_chain(100)
        with open_schema(path) as schema:
            for at in range(0, len(chain.blocks), chunk):
                schema.accept_packed(PackedBlocks.of(chain.blocks[at : at + chunk]))
            assert schema.last_block_index == chain.newest_index
            assert summarize(schema) == expected_state(chain.blocks)
        with open_schema(path) as schema:
            assert verify(schema) == expected_state(chain.blocks)

    @pytest.mark.parametrize("breach", BREACHES)
    @pytest.mark.parametrize("flushed", [0, 5, 12])
    def test_blocks_before_a_bad_one_are_accepted(
        self, path: Path, breach: str, flushed: int
    ) -> None:
        chain = sample_chain(20)
        before, last, after = chain.blocks[:12], chain.blocks[12], chain.blocks[13:]
        broken = BREACHES[breach].make(Chain.of(before), last)
        assert broken is not None
        with pytest.raises(BlockError) as by_model, MemorySchema() as model:
            accept_all(model, [*before, broken])
        try:
            packed = PackedBlocks.of([*before[flushed:], broken, *after])
        except OverflowError:
            pytest.skip("such a field has no packed form")
        with opened(path) as schema:
            accept_all(schema, before[:flushed])
            schema.flush()
            with pytest.raises(type(by_model.value)) as by_schema:
                schema.accept_packed(packed)
            assert by_schema.value.block_index == broken.index
            assert by_schema.value.coin_name == by_model.value.coin_name
            assert summarize(schema) == expected_state(before)
            schema.accept_packed(PackedBlocks.of([last, *after]))
            assert verify(schema) == expected_state(chain.blocks)

    def test_an_index_of_more_than_32_bits_is_refused(self, path: Path) -> None:
        blocks = [block_at(index) for index in (5, 2**32 + 6)]
        with opened(path) as schema:
            with pytest.raises(InvalidBlockError):
                schema.accept_packed(PackedBlocks.of(blocks))
            assert schema.last_block_index == 5

    def test_of_two_bad_blocks_the_first_is_named(self, path: Path) -> None:
        coin = reward(1)
        again = [BlockSpendInfo(index, 0, [coin.name()], []) for index in (2, 3, 4)]
        unknown = BlockSpendInfo(3, 0, [hash_of("nobody")], [])
        with opened(path) as schema:
            schema.accept_packed(PackedBlocks.of([BlockSpendInfo(1, 0, [], [coin])]))
            schema.flush()
            with pytest.raises(BlockError, match="block 3 refused: it spends a coin that does"):
                schema.accept_packed(PackedBlocks.of([again[0], unknown, again[2]]))
            with pytest.raises(BlockError, match="block 3 refused: it spends a coin that block 2"):
                schema.accept_packed(PackedBlocks.of(again[1:]))

    def test_an_iteration_that_is_dropped_ends_with_the_next_call(self, path: Path) -> None:
        with opened(path) as schema:
            accept_all(schema, sample_chain(3).blocks)
            iteration = schema.blocks()
            next(iteration)
            del iteration
            assert len(schema._backend._ended) == 1
            schema.flush()
            assert not schema._backend._ended

    def test_lookups_without_objects(self, path: Path) -> None:
        coin, other = reward(1), reward(1, 1)
        with opened(path) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], [coin, other]))
            schema.flush()
            schema.accept_block(BlockSpendInfo(4, 0, [coin.name()], [child(coin.name())]))
            names = coin.name() + hash_of("nobody") + other.name()
            infos, found = schema.coin_infos_packed(names)
            assert [*found] == [1, 0, 1]
            first, unknown, last = iter_unpack(INFO_FORMAT, infos)
            assert first == (coin.parent_coin_name, coin.puzzle_hash, coin.amount, 1, 4)
            assert unknown == (bytes(32), bytes(32), 0, 0, 0)
            assert last == (other.parent_coin_name, other.puzzle_hash, other.amount, 1, 0)
            with pytest.raises(ValueError, match="32 bytes"):
                schema.coin_infos_packed(names[1:])
            with pytest.raises(ValueError, match="32 bytes"):
                schema.coin_infos_packed("x" * 32)  # type: ignore[arg-type]

    def test_more_parts_and_threads_than_one(self, path: Path) -> None:
        coins = [reward(1, n) for n in range(5_000)]
        names = [coin.name() for coin in coins]
        with opened(path, ingest_entries=4_000) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], coins))
            schema.flush()
            schema.accept_block(BlockSpendInfo(2, 0, names[::2], []))
            schema.flush()
            infos = schema.coin_infos_for_coin_names([*names, bytes32(bytes(32))])
            assert [info.coin for info in infos] == coins
            assert [info.spent_index for info in infos] == [2, 0] * 2_500


@needs_rocksdb
class TestOpening:
    def test_a_reader_beside_the_writer_sees_what_was_committed(self, path: Path) -> None:
        chain = sample_chain(30)
        with pytest.raises(DatabaseNotFoundError):
            opened(path, read_only=True)
        with SMALL(path) as writer:
            accept_all(writer, chain.blocks[:20])
            writer.flush()
            with opened(path, read_only=True) as reader:
                accept_all(writer, chain.blocks[20:])
                writer.rewind_to_block_index(chain.blocks[3].index)
                assert verify(reader) == expected_state(chain.blocks[:20])
                with pytest.raises(UnsupportedError):
                    reader.accept_block(chain.blocks[20])
            with opened(path, read_only=True) as reader:
                assert verify(reader) == expected_state(chain.blocks[:4])

    def test_a_reader_opens_while_the_manifest_rests(self, path: Path) -> None:
        with opened(path) as writer, ThreadPoolExecutor(1) as thread:
            accept_all(writer, sample_chain(3).blocks)
            writer.flush()
            directory = os.open(path / "db", os.O_RDONLY)
            try:
                fcntl.flock(directory, fcntl.LOCK_EX)  # as a writer has it that appends to it
                opening = thread.submit(opened, path, read_only=True)
                assert not wait([opening], timeout=0.3).done
            finally:
                os.close(directory)
            with opening.result(timeout=60) as reader:
                assert verify(reader) == expected_state(sample_chain(3).blocks)

    def test_blocks_after_a_rewind_are_found_without_a_close(self, path: Path) -> None:
        chain = sample_chain(30)
        with opened(path) as writer:
            accept_all(writer, chain.blocks)
        with opened(path) as writer:
            writer.rewind_to_block_index(chain.blocks[9].index)
            accept_all(writer, chain.blocks[10:20])
            writer.flush()
            with opened(path, read_only=True) as reader:
                assert verify(reader) == expected_state(chain.blocks[:20])

    def test_an_iteration_ends_with_its_database(self, path: Path) -> None:
        with opened(path) as schema:
            schema.accept_block(block_at(1))
            blocks = schema.blocks()
        with pytest.raises(DatabaseClosedError):
            next(blocks)

    def test_a_rewind_that_was_cut_short_is_ended(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chain = sample_chain(30)
        kept = chain.blocks[:12]
        with SMALL(path) as schema:
            accept_all(schema, chain.blocks)
            monkeypatch.setattr("cdb.stores.coin_set.backend.BATCH_ENTRIES", 30)
            monkeypatch.setattr(CoinSet, "erase", _once(CoinSet.erase))
            with pytest.raises(KeyboardInterrupt):
                schema.rewind_to_block_index(kept[-1].index)
        monkeypatch.undo()
        with opened(path, read_only=True) as reader:
            assert verify(reader) == expected_state(kept)
        with SMALL(path) as schema:
            assert verify(schema) == expected_state(kept)
            accept_all(schema, chain.blocks[12:])
            assert verify(schema) == expected_state(chain.blocks)

    @pytest.mark.parametrize("kept", [30, 12, 0])
    def test_without_its_promise_it_is_damaged(self, path: Path, kept: int) -> None:
        chain = sample_chain(30)
        with SMALL(path) as schema:
            accept_all(schema, chain.blocks)
            schema.rewind_to_block_index(chain.blocks[kept - 1].index if kept else -1)
        (path / "NEWEST").unlink()
        for read_only in (False, True):
            with pytest.raises(CorruptDatabaseError, match="NEWEST: it is missing; cdb verify"):
                SMALL(path, read_only=read_only)
        damages = list(KIND.check(path, lambda _: None))
        assert [damage.path for damage in damages] == [path / "NEWEST"]
        KIND.repair(path, damages, lambda _: None)
        with SMALL(path) as schema:
            assert verify(schema) == expected_state(chain.blocks[:kept])

    def test_a_making_that_ended_before_its_promise_is_no_damage(self, path: Path) -> None:
        opened(path).close()
        (path / "NEWEST").unlink()
        assert not list(KIND.check(path, lambda _: None))
        with opened(path) as schema:
            accept_all(schema, sample_chain(30).blocks)
        assert (path / "NEWEST").exists()

    @pytest.mark.parametrize("lost", [[], ["*.log"]])
    def test_a_merge_beside_an_iterator_keeps_the_coins(self, path: Path, lost: list[str]) -> None:
        """RocksDB drops rows of sequence number 0 beside a snapshot of that number, which a
        database with nothing but its first runs has; lost: of one that was written without care."""
        chain = sample_chain(30)
        with opened(path, ingest_entries=1) as schema:
            accept_all(schema, chain.blocks)
        for pattern in lost:
            for file in (path / "db").glob(pattern):
                file.unlink()
        with opened(path) as schema:
            states = schema.state_at(chain.newest_index)
            schema.settle()
            assert verify(schema) == expected_state(chain.blocks)
            assert len([*states]) == sum(len(block.confirms) for block in chain.blocks)

    @pytest.mark.parametrize("names", [["MANIFEST-*"], ["CURRENT"], ["*.sst"]])
    def test_a_file_cut_anywhere_never_gives_an_older_state(
        self, path: Path, tmp_path: Path, names: list[str]
    ) -> None:
        chain = sample_chain(30)
        with SMALL(path) as schema:
            accept_all(schema, chain.blocks)
        file = next(found for name in names for found in (path / "db").glob(name))
        size = file.stat().st_size
        for left in range(0, size, max(1, size // 40)):
            damaged = tmp_path / f"cut-{left}"
            shutil.copytree(path, damaged)
            os.truncate(damaged / "db" / file.name, left)
            try:
                with SMALL(damaged) as schema:
                    assert verify(schema) == expected_state(chain.blocks)
            except CorruptDatabaseError:
                pass

    @pytest.mark.parametrize(
        ("change", "from_end", "damage"),
        [
            (-1, 0, b""),
            (1, 0, b""),
            *((0, 1, each) for each in (b"\x00", b"\xff")),  # a mark
            (0, 12, b"\xff"),  # a version
            (0, 53, b"\xff"),  # a kind of checksum
            # places of blocks
            *((0, 52, each) for each in (b"\xff" * 20, b"\xff\xff\xff\xff\x01")),
        ],
    )
    def test_of_a_table_whose_end_is_damaged_one_line_names_it(
        self, path: Path, change: int, from_end: int, damage: bytes
    ) -> None:
        """RocksDB may name the manifest, in two lines."""
        with opened(path, ingest_entries=1) as schema:
            accept_all(schema, sample_chain(30).blocks)
        table = max((path / "db").glob("*.sst"), key=lambda file: file.stat().st_size)
        size = table.stat().st_size
        os.truncate(table, size + change)
        with table.open("r+b") as stream:
            stream.seek(size - from_end)
            stream.write(damage)
        with (
            pytest.raises(CorruptDatabaseError, match=rf"db/{table.name}: ") as raised,
            opened(path, read_only=True) as schema,
        ):
            verify(schema)
        assert "\n" not in str(raised.value)

    def test_of_a_damaged_manifest_no_table_is_named_that_a_crash_has_left(
        self, path: Path
    ) -> None:
        with opened(path, ingest_entries=1) as schema:
            accept_all(schema, sample_chain(30).blocks)
        table = max((path / "db").glob("*.sst"), key=lambda file: file.stat().st_size)
        left = table.with_name("999999.sst")
        left.write_bytes(table.read_bytes()[:-1])
        (manifest,) = (path / "db").glob("MANIFEST-*")
        _flip(manifest, manifest.stat().st_size // 2)
        with pytest.raises(CorruptDatabaseError, match=f"db/{manifest.name}: "):
            opened(path, read_only=True)

    def test_a_flipped_byte_in_a_row_is_never_served(self, path: Path, tmp_path: Path) -> None:
        chain = sample_chain(30)
        with opened(path, ingest_entries=15) as schema:
            accept_all(schema, chain.blocks)
        for file in (path / "db").glob("*.sst"):
            for at in range(0, file.stat().st_size, 500):
                damaged = tmp_path / "damaged"
                shutil.rmtree(damaged, ignore_errors=True)
                shutil.copytree(path, damaged)
                _flip(damaged / "db" / file.name, at)
                try:
                    with opened(damaged) as schema:
                        assert verify(schema) == expected_state(chain.blocks)
                except CorruptDatabaseError:
                    pass

    def test_a_table_that_is_damaged_where_it_begins_is_not_the_end_of_its_level(
        self, path: Path, tmp_path: Path
    ) -> None:
        """RocksDB before 8.6 believes that it is, when it gets there from the table before."""
        blocks = [block_at(index) for index in range(50)]
        with opened(path, ingest_entries=1) as schema:
            for at in range(0, len(blocks), 10):
                accept_all(schema, blocks[at : at + 10])
                schema.flush()
        damaged = tmp_path / "damaged"
        outcomes = []
        for file in sorted((path / "db").glob("*.sst")):
            shutil.rmtree(damaged, ignore_errors=True)
            shutil.copytree(path, damaged)
            _flip(damaged / "db" / file.name, 5)
            read: list[BlockSpendInfo] = []
            try:
                with opened(damaged, read_only=True) as schema:
                    read.extend(schema.blocks())
            except CorruptDatabaseError:
                outcomes.append(len(read))
            else:
                assert read == [canonical(block) for block in blocks]
        assert {10, 20, 30} <= {*outcomes}

    def test_the_blocks_before_the_first_damage_are_read(self, path: Path) -> None:
        blocks = [block_at(index, coins=40) for index in range(20)]
        with opened(path, ingest_entries=15) as schema:
            schema.accept_packed(PackedBlocks.of(blocks))
        largest = max((path / "db").glob("*.sst"), key=lambda file: file.stat().st_size)
        _flip(largest, largest.stat().st_size // 2)
        with opened(path, read_only=True) as schema:
            read: list[BlockSpendInfo] = []
            with pytest.raises(CorruptDatabaseError):
                read.extend(schema.blocks())
        assert 5 < len(read) < 15
        assert read == [canonical(block) for block in blocks[: len(read)]]


# Accepted blocks stay in memory, or each is indexed at once: by a batch, or by sorted runs.
OPENINGS: dict[str, Callable[[Path], CoinSetSchema]] = {
    "memory": opened,
    "batches": partial(opened, commit_entries=1),
    "runs": partial(opened, commit_entries=1, ingest_entries=1),
}

PARENT = child(hash_of("a coin that only the first block spends"))
EARLY = child(PARENT.name())
LATER = [
    BlockSpendInfo(1, 0, [], [PARENT]),
    BlockSpendInfo(2, 0, [], [EARLY]),
    block_at(3),
]
AGAIN = BlockSpendInfo(4, 0, [PARENT.name()], [EARLY])


def check_again_is_refused(schema: CoinSetSchema) -> None:
    """It confirms EARLY, which is there, and spends its parent."""
    with pytest.raises(DuplicateCoinError) as refused:
        schema.accept_block(AGAIN)
    assert refused.value.coin_name == EARLY.name()


def check_parent_is_spendable(schema: CoinSetSchema) -> None:
    """A block that confirms another child may spend it."""
    schema.accept_block(BlockSpendInfo(4, 0, [PARENT.name()], [child(PARENT.name(), 1)]))


def load_and_die(path: Path, opening: str, *, is_flushed_whole: bool) -> None:
    """End by SIGKILL when EARLY is durable, or all of LATER is."""
    schema = OPENINGS[opening](path)
    accept_all(schema, LATER[:2])
    schema.flush()
    accept_all(schema, LATER[2:])
    if is_flushed_whole:
        schema.flush()
    os.kill(os.getpid(), signal.SIGKILL)


@needs_rocksdb
@pytest.mark.parametrize("opening", OPENINGS)
class TestEarlyChildren:
    """A coin that was there before its parent was spent: it is not confirmed with the spend."""

    def test_in_the_same_call(self, path: Path, opening: str) -> None:
        with OPENINGS[opening](path) as schema:
            with pytest.raises(DuplicateCoinError):
                schema.accept_packed(PackedBlocks.of([*LATER, AGAIN]))
            assert schema.last_block_index == 3
            check_again_is_refused(schema)
            check_parent_is_spendable(schema)

    def test_in_a_later_call(self, path: Path, opening: str) -> None:
        with OPENINGS[opening](path) as schema:
            accept_all(schema, LATER)
            check_again_is_refused(schema)
            check_parent_is_spendable(schema)

    def test_after_reopening(self, path: Path, opening: str) -> None:
        with OPENINGS[opening](path) as schema:
            accept_all(schema, LATER)
        with OPENINGS[opening](path) as schema:
            schema.accept_block(BlockSpendInfo(3 + 2**20, 0, [], [reward(4)]))
        with OPENINGS[opening](path) as schema:
            schema.rewind_to_block_index(3)
            check_again_is_refused(schema)
            check_parent_is_spendable(schema)

    @pytest.mark.parametrize("is_flushed_whole", [False, True])
    @pytest.mark.parametrize("reopening", OPENINGS)
    def test_after_a_kill(
        self, path: Path, opening: str, reopening: str, is_flushed_whole: bool
    ) -> None:
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        code += "from test_rocks_kv import *\nload_and_die("
        code += f"Path({str(path)!r}), {opening!r}, is_flushed_whole={is_flushed_whole})"
        done = subprocess.run([sys.executable, "-c", code], check=False)
        assert done.returncode == -signal.SIGKILL
        with OPENINGS[reopening](path) as schema:
            schema.accept_block(BlockSpendInfo(3 + 2**20, 0, [], [reward(4)]))
            schema.rewind_to_block_index(3)
            check_again_is_refused(schema)
        with OPENINGS[reopening](path) as schema:
            check_again_is_refused(schema)
            check_parent_is_spendable(schema)

    def test_after_a_rewind_that_keeps_it(self, path: Path, opening: str) -> None:
        with OPENINGS[opening](path) as schema:
            accept_all(schema, LATER)
            schema.rewind_to_block_index(2)
            check_again_is_refused(schema)
            check_parent_is_spendable(schema)

    @pytest.mark.parametrize("is_reopened", [False, True])
    def test_after_a_rewind_that_erases_it(
        self, path: Path, opening: str, is_reopened: bool
    ) -> None:
        schema = OPENINGS[opening](path)
        accept_all(schema, LATER)
        schema.rewind_to_block_index(1)
        if is_reopened:
            schema.close()
            schema = OPENINGS[opening](path)
        with schema:
            schema.accept_block(AGAIN)
            schema.rewind_to_block_index(1)
            accept_all(schema, LATER[1:])
            schema.rewind_to_block_index(3)
            check_again_is_refused(schema)
            check_parent_is_spendable(schema)

    def test_after_a_block_with_it_was_refused(self, path: Path, opening: str) -> None:
        with OPENINGS[opening](path) as schema:
            accept_all(schema, LATER[:1])
            with pytest.raises(UnknownCoinError):
                schema.accept_block(BlockSpendInfo(2, 0, [hash_of("nobody")], [EARLY]))
            accept_all(schema, LATER[1:])
            schema.flush()
        with OPENINGS[opening](path) as schema:
            check_again_is_refused(schema)
            check_parent_is_spendable(schema)


def block_reward(height: int, kind: int = 0, amount: int = 1) -> Coin:
    """A coin with such a parent as a network's rewards have."""
    parent = hash_of("kind", kind)[:16] + bytes(12) + height.to_bytes(4, "big")
    return Coin(bytes32(parent), hash_of("farmer"), amount)


@needs_rocksdb
@pytest.mark.parametrize("is_reopened", [False, True])
@pytest.mark.parametrize("opening", OPENINGS)
class TestRewards:
    def test_one_that_is_there_is_refused(
        self, path: Path, opening: str, is_reopened: bool
    ) -> None:
        coins = [[block_reward(height, kind) for kind in range(9)] for height in (5, 4, 9)]
        blocks = [BlockSpendInfo(10 + n, 0, [], confirms) for n, confirms in enumerate(coins)]
        schema = OPENINGS[opening](path)
        accept_all(schema, blocks)
        schema.rewind_to_block_index(11)
        if is_reopened:
            schema.close()
            schema = OPENINGS[opening](path)
        with schema:
            for coin in (*coins[0], *coins[1]):
                with pytest.raises(DuplicateCoinError):
                    schema.accept_block(BlockSpendInfo(20, 0, [], [coin, block_reward(30)]))
            sibling = block_reward(5, amount=2)
            schema.accept_block(BlockSpendInfo(20, 0, [], [sibling, *coins[2]]))
            for coin in (*coins[0], *coins[1], *coins[2], sibling):
                with pytest.raises(DuplicateCoinError):
                    schema.accept_block(BlockSpendInfo(21, 0, [], [coin]))


@needs_rocksdb
def test_a_block_that_is_refused_after_the_table_grew_hides_no_coin(path: Path) -> None:
    """A table that grows enters its coins from slot 0: those that had gone past its end come first.

    Whether there are some in the refused block depends on the table's key, which no test chooses.
    """
    path.mkdir()
    kept = [reward(1, n) for n in range(400)]
    refused = BlockSpendInfo(2, 0, [hash_of()], [reward(2, n) for n in range(400)])
    for attempt in range(50):
        with opened(path / str(attempt)) as schema:
            schema.accept_block(BlockSpendInfo(1, 0, [], kept))
            with pytest.raises(UnknownCoinError):
                schema.accept_block(refused)
            found = schema.coin_infos_for_coin_names([coin.name() for coin in kept])
            assert len(found) == len(kept)


def settle_and_die(path: Path) -> None:
    """End by SIGKILL after a chain was settled that was never flushed."""
    schema = opened(path)
    accept_all(schema, sample_chain(30).blocks)
    schema.settle()
    os.kill(os.getpid(), signal.SIGKILL)


@needs_rocksdb
class TestSettle:
    def test_fewer_files_hold_the_same_state(self, path: Path) -> None:
        chain = sample_chain(60)
        with SMALL(path) as schema:
            accept_all(schema, chain.blocks)
        before = [file.stat().st_size for file in path.rglob("*.sst")]
        with SMALL(path) as schema:
            schema.settle()
            assert verify(schema) == expected_state(chain.blocks)
        after = [file.stat().st_size for file in path.rglob("*.sst")]
        assert len(after) < len(before)
        assert sum(after) < sum(before)
        with SMALL(path) as schema:
            assert verify(schema) == expected_state(chain.blocks)

    def test_it_commits_and_a_kill_after_it_costs_nothing(self, path: Path) -> None:
        code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        code += f"from test_rocks_kv import *\nsettle_and_die(Path({str(path)!r}))"
        done = subprocess.run([sys.executable, "-c", code], check=False)
        assert done.returncode == -signal.SIGKILL
        with opened(path, read_only=True) as reader:
            assert verify(reader) == expected_state(sample_chain(30).blocks)

    def test_it_is_refused_read_only_and_after_closing(self, path: Path) -> None:
        with opened(path) as schema:
            schema.settle()
        with pytest.raises(DatabaseClosedError):
            schema.settle()
        with opened(path, read_only=True) as reader, pytest.raises(UnsupportedError):
            reader.settle()

    def test_a_failure_is_final_and_costs_nothing(self, path: Path) -> None:
        chain = sample_chain(60)
        with SMALL(path) as schema:
            accept_all(schema, chain.blocks)
        with SMALL(path) as schema:
            with largest_file(1024), pytest.raises(StorageError, match=r"large\)?; allow larger"):
                schema.settle()
            with pytest.raises(DatabaseClosedError):
                schema.flush()
        with SMALL(path) as schema:
            assert verify(schema) == expected_state(chain.blocks)
            schema.settle()
            assert verify(schema) == expected_state(chain.blocks)


def read_what_was_cut(path: Path) -> None:
    """Read a database whose tables somebody cuts while it is open."""
    with opened(path) as schema:
        blocks = schema.blocks()
        for table in (path / "db").glob("*.sst"):
            os.truncate(table, 0)
        for read in (lambda: verify(schema), lambda: next(blocks), schema.settle):
            with pytest.raises(StorageError, match=r"db/\d+.sst: a part of it cannot be read"):
                read()


@needs_rocksdb
def test_a_mapped_page_that_cannot_be_read_is_an_error(path: Path) -> None:
    with SMALL(path) as schema:
        accept_all(schema, sample_chain(30).blocks)
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    code += f"from test_rocks_kv import *\nread_what_was_cut(Path({str(path)!r}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@needs_rocksdb
class TestFailedWrites:
    def test_close_says_why_it_failed(self, path: Path) -> None:
        schema = opened(path)
        schema.accept_block(block_at(1, coins=50))
        schema.flush()
        with largest_file(1024), pytest.raises(StorageError, match=r"large\)?; allow larger"):
            schema.close()

    def test_an_opening_that_ends_a_rewind_says_why_it_failed(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with opened(path) as schema:
            accept_all(schema, sample_chain(30).blocks)
            monkeypatch.setattr(PromisedSet, "_end_rewind", lambda _: None)
            schema.rewind_to_block_index(0)
        monkeypatch.undo()
        with largest_file(1024), pytest.raises(StorageError, match=r"large\)?; allow larger"):
            opened(path)


def _once(erase: Callable[..., None]) -> Callable[..., None]:
    """erase(), which works once."""
    calls: list[PackedBlocks] = []

    def erase_once(self: CoinSet, blocks: PackedBlocks) -> None:
        if calls:
            raise KeyboardInterrupt
        calls.append(blocks)
        erase(self, blocks)

    return erase_once


def _flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 0xFF
    file.write_bytes(data)


@needs_rocksdb
class TestReadersThatOpenBesideAWriter:
    """A reader opens the manifest first and the logs later, and a writer changes both."""

    def test_a_manifest_that_changes_meanwhile_is_read_again(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Blocks that a writer moved from the log to tables in between were missing."""
        chain = sample_chain(5)
        with opened(path) as schema:
            accept_all(schema, chain.blocks)
            schema.flush()
            copy = path.with_name("copy")
            copy_at_rest(path, copy)
        [log] = [file for file in (copy / "db").glob("*.log") if file.read_bytes().strip(b"\0")]
        [manifest] = (copy / "db").glob("MANIFEST-*")
        written = log.read_bytes()
        log.unlink()
        os.mkfifo(log)
        monkeypatch.setattr(paths, "check_file", lambda path, read_only: None)  # it refuses a pipe

        def change() -> None:
            with log.open("wb"):  # as soon as the reader opens it, which has read the manifest
                manifest.write_bytes(manifest.read_bytes() + bytes(7))
                log.unlink()
                log.write_bytes(written)

        with ThreadPoolExecutor() as writer:
            changed = writer.submit(change)
            with opened(copy, read_only=True) as schema:
                assert [*schema.blocks()] == [canonical(block) for block in chain.blocks]
            changed.result()

    def test_a_writer_waits_for_a_reader_that_opens_but_not_for_ever(self, path: Path) -> None:
        with SMALL(path) as schema, ThreadPoolExecutor() as threads:
            opening = os.open(path / "db", os.O_RDONLY)
            fcntl.flock(opening, fcntl.LOCK_SH)
            accept_all(schema, sample_chain(5).blocks)
            flushing = threads.submit(schema.flush)
            assert wait([flushing], timeout=0.1).not_done
            flushing.result()
            os.close(opening)


class TestMissing:
    @pytest.fixture(autouse=True)
    def no_engine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cdb.engines._rocksdb", None)

    def test_it_says_what_to_install(self, path: Path) -> None:
        assert "librocksdb-dev" in str(KIND.engine.missing())
        with pytest.raises(MissingEngineError, match="librocksdb-dev"):
            opened(path)

    def test_nothing_is_left_that_stops_a_later_opening(self, path: Path) -> None:
        with pytest.raises(CdbError):
            opened(path)
        assert not path.exists()


@pytest.mark.parametrize(
    ("memory", "entries"),
    [
        (24 * 10**9, 6_000_000),
        (3 * 10**9, 4_783_333),
        (1_300 * 10**6, 1_950_000),
        (300 * 10**6, 283_333),
        (10**6, 2_000),
    ],
)
def test_a_commit_fits_into_memory(
    memory: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_a_commit_fits(KIND, memory, entries, monkeypatch)


def test_a_cache_fits_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cdb.stores.coin_set.schema.memory_bytes", lambda: 160 << 20)
    assert cache_bytes(None) == 10 << 20
    assert cache_bytes(100) == 100 << 20
    monkeypatch.setattr("cdb.stores.coin_set.schema.memory_bytes", lambda: 24 << 30)
    assert cache_bytes(None) == 64 << 20


def test_a_commit_with_large_pages_takes_not_all_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    with_pages = KIND._replace(page_bytes=600, most_page_bytes=1 << 40)
    check_a_commit_fits(with_pages, 24 * 10**9, 3_000_000, monkeypatch)
