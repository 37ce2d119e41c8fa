"""lmdb_kv: what LMDB and the checksums of its values are to the contract."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coin_query import COIN_BYTES, CoinKey, CoinQuery
from cdb.contract.coins import Coin, bytes32
from cdb.contract.packed import PackedBlocks
from cdb.contract.secondary_keys import PUZZLE_HASH
from cdb.errors import (
    CdbError,
    CorruptDatabaseError,
    DatabaseClosedError,
    MissingEngineError,
)
from cdb.process.children import fork
from cdb.schemas.lmdb_kv import KIND
from cdb.stores.coin_set.schema import CoinSetSchema, IndexedCoinSetSchema
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, hash_of, reward, sample_chain
from tests.engine_suite import (
    FIRST_MAP_BYTES,
    LimitedIterations,
    MappedTests,
    have_few_addresses,
)
from tests.engines import check_a_commit_fits

needs_lmdb = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

opened = partial(CoinSetSchema, KIND)
SMALL = partial(opened, commit_entries=40, ingest_entries=15)
indexed = partial(IndexedCoinSetSchema, KIND, index=PUZZLE_HASH)
CHAIN = sample_chain(30)
MANY = 2_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


def wait_for(its_end: int, end: int) -> None:
    """Wait until the other end of a pipe is closed."""
    os.close(end)
    os.read(its_end, 1)


def contents(path: Path) -> dict[str, tuple[bytes, int]]:
    """Of all files but LMDB's table of readers."""
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "lock.mdb"]
    return {str(file): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


@needs_lmdb
class TestReaders:
    """Each sees what was there when it was opened, as long as it is open."""

    def test_of_a_writer_that_is_gone(self, path: Path) -> None:
        """The next one does not know what it sees, and tells it so."""
        with SMALL(path) as writer:
            accept_all(writer, CHAIN.blocks[:10])
            writer.flush()
            reader = opened(path, read_only=True)
            accept_all(writer, CHAIN.blocks[10:20])
            writer.flush()
            later = opened(path, read_only=True)
        assert verify(reader) == expected_state(CHAIN.blocks[:10])
        with opened(path) as writer:
            newest = opened(path, read_only=True)
            accept_all(writer, CHAIN.blocks[20:])
            writer.flush()
            for old in (reader, later):
                with pytest.raises(DatabaseClosedError, match="does not keep what it shows"):
                    verify(old)
            assert verify(newest) == expected_state(CHAIN.blocks[:20])

    def test_they_change_nothing_on_disk(self, path: Path) -> None:
        with SMALL(path) as writer:
            accept_all(writer, CHAIN.blocks)
        before = contents(path)
        (path / "db/lock.mdb").unlink()
        with opened(path, read_only=True) as reader:
            assert verify(reader) == expected_state(CHAIN.blocks)
        assert contents(path) == before
        assert not (path / "db/lock.mdb").exists()

    def test_a_copy_without_their_file_is_read_until_somebody_writes(self, path: Path) -> None:
        with SMALL(path) as writer:
            accept_all(writer, CHAIN.blocks)
        (path / "db/readers").unlink()
        with opened(path, read_only=True) as reader:
            assert verify(reader) == expected_state(CHAIN.blocks)
            SMALL(path).close()
            with pytest.raises(DatabaseClosedError, match="does not keep what it shows"):
                verify(reader)

    def test_a_child_of_one_holds_nothing(self, path: Path) -> None:
        with SMALL(path) as writer:
            accept_all(writer, CHAIN.blocks)
        wait_for_end, end = os.pipe()
        reader = opened(path, read_only=True)
        child = fork(partial(wait_for, wait_for_end, end))
        reader.close()
        try:
            with SMALL(path) as writer:
                accept_all(writer, [block_at(1_000, coins=MANY)])
                writer.rewind_to_block_index(999)
                size = (path / "db/data.mdb").stat().st_size
                for _ in range(5):
                    accept_all(writer, [block_at(1_000, coins=MANY)])
                    writer.rewind_to_block_index(999)
                assert (path / "db/data.mdb").stat().st_size < 1.5 * size
        finally:
            os.close(end)
            os.waitpid(child, 0)


def grow_in_few_addresses(path: Path, *, is_iterating: bool) -> None:
    """Load more than the first map holds, which is small where there are few addresses. There may
    be a block 0 already."""
    have_few_addresses()
    blocks = [block_at(1, coins=MANY), block_at(2, coins=MANY)]
    with opened(path, commit_entries=4_000, ingest_entries=3_000) as schema:
        before = list(schema.blocks())
        schema.accept_packed(PackedBlocks.of(blocks))
        schema.flush()
        iteration = schema.blocks()
        assert next(iteration) == canonical([*before, *blocks][0])
        if not is_iterating:
            del iteration
        while (path / "db/data.mdb").stat().st_size <= FIRST_MAP_BYTES:
            more = [block_at(len(blocks) + n, coins=MANY) for n in range(1, 21)]
            schema.accept_packed(PackedBlocks.of(more))
            schema.flush()
            blocks += more
        assert verify(schema) == expected_state([*before, *blocks])


def fill_first_map(schema: CoinSetSchema, path: Path, left_bytes: int) -> list[BlockSpendInfo]:
    """Blocks, until the map has no more bytes left than these."""
    blocks: list[BlockSpendInfo] = []
    while (path / "db/data.mdb").stat().st_size < FIRST_MAP_BYTES - left_bytes:
        blocks.append(block_at(len(blocks) + 1, coins=MANY))
        schema.accept_block(blocks[-1])
        schema.flush()
    return blocks


def close_within_an_iteration(path: Path) -> None:
    """The close has to write more than the map holds."""
    have_few_addresses()
    schema = opened(path, commit_entries=40_000, ingest_entries=3_000)
    blocks = fill_first_map(schema, path, 20 << 20)
    iterations = (schema.blocks(), schema.unspent(), schema.versions(0, 9))
    assert [next(each) for each in iterations]
    for index in range(len(blocks) + 1, len(blocks) + 19):
        blocks.append(block_at(index, coins=MANY))
        schema.accept_block(blocks[-1])
    schema.close()
    assert (path / "db/data.mdb").stat().st_size > FIRST_MAP_BYTES
    for each in iterations:
        with pytest.raises(DatabaseClosedError):
            list(each)
    with opened(path) as schema:
        assert schema.last_block_index == len(blocks)


def rewind_in_a_full_map(path: Path) -> None:
    """What a rewind erases takes new pages before it frees old ones."""
    have_few_addresses()
    with opened(path, commit_entries=4_000, ingest_entries=3_000) as schema:
        blocks = fill_first_map(schema, path, 3 << 20)
        schema.rewind_to_block_index(2)
        assert (path / "db/data.mdb").stat().st_size > FIRST_MAP_BYTES
        assert verify(schema) == expected_state(blocks[:2])


@needs_lmdb
class TestMap:
    def _run(self, path: Path, *, is_iterating: bool) -> subprocess.CompletedProcess[str]:
        return self._done(f"grow_in_few_addresses({path!r}, is_iterating={is_iterating})")

    def _done(self, call: str) -> subprocess.CompletedProcess[str]:
        code = f"import sys; sys.path[:0] = [{str(Path(__file__).parents[2])!r}]\n"
        code += "from pathlib import PosixPath\n"
        code += "from tests.schemas.test_lmdb_kv import *\n"
        code += call
        return subprocess.run(
            [sys.executable, "-c", code], check=False, capture_output=True, text=True
        )

    def test_it_grows_by_itself_and_tells_who_reads(self, path: Path) -> None:
        with SMALL(path) as writer:
            writer.accept_block(block_at(0, coins=MANY))
        with opened(path, read_only=True) as reader:
            done = self._run(path, is_iterating=False)
            assert done.returncode == 0, done.stderr
            assert (path / "db/data.mdb").stat().st_size > FIRST_MAP_BYTES
            with pytest.raises(DatabaseClosedError, match="does not keep what it shows"):
                verify(reader)

    @pytest.mark.parametrize("what", [close_within_an_iteration, rewind_in_a_full_map])
    def test_it_grows_for(self, what: Callable[[Path], None], path: Path) -> None:
        done = self._done(f"{what.__name__}({path!r})")
        assert done.returncode == 0, done.stderr

    def test_an_iteration_keeps_it_from_growing(self, path: Path) -> None:
        done = self._run(path, is_iterating=True)
        assert "end all iterations" in done.stderr
        with opened(path) as schema:
            assert (verify(schema).newest_index or 0) > 1


@needs_lmdb
@pytest.mark.parametrize("sparse_bytes", [0, 96_128])
def test_the_lock_file_has_all_of_its_pages(path: Path, sparse_bytes: int) -> None:
    """A page that it lacks can't be had where the disk is full, and LMDB writes into a mapping."""
    lock = path / "db/lock.mdb"
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks[:3])
    os.truncate(lock, 0)
    os.truncate(lock, sparse_bytes)
    with SMALL(path) as schema:
        status = lock.stat()
        assert status.st_blocks * 512 >= status.st_size >= 96_128
        assert verify(schema).newest_index == CHAIN.blocks[2].index


@needs_lmdb
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_reader_whose_file_of_readers_is_gone_tells_nothing_wrong(
    path: Path, is_replaced: bool
) -> None:
    """A later writer takes no notice of it, and uses its pages again."""
    readers = path / "db/readers"
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks[:5])
    with SMALL(path, read_only=True) as reader:
        readers.unlink()
        if is_replaced:
            readers.write_bytes(bytes(8))
        with SMALL(path) as schema:
            for block in CHAIN.blocks[5:]:
                schema.accept_block(block)
                schema.flush()
        with pytest.raises(DatabaseClosedError, match="open it again"):
            list(reader.blocks())


@needs_lmdb
class TestLmdb(LimitedIterations, MappedTests):
    kind = KIND
    schema = "lmdb_kv"
    file = "data.mdb"
    failed = r"data\.mdb: .*; allow larger"
    cut_by = 4_095
    left_bytes = 4_096
    most_iterations = 1_000

    @pytest.mark.parametrize("place", range(0, 1_000, 111))
    def test_of_a_value_is_found_by_look_ups_of_many(self, path: Path, place: int) -> None:
        """They go to several threads, each with a part of the names in their order."""
        blocks = [block_at(index) for index in range(1, 1_002)]
        *coins, _newest = [coin for block in blocks for coin in block.confirms]
        coins.sort(key=lambda coin: coin.name())
        with opened(path) as schema:
            accept_all(schema, blocks)
        self.change(path, coins[place].parent_coin_name, hash_of("another one"))
        with opened(path, read_only=True) as schema, pytest.raises(CorruptDatabaseError):
            schema.coin_infos_for_coin_names([coin.name() for coin in coins])

    def test_of_the_first_entry_is_not_the_end_of_the_blocks(self, path: Path) -> None:
        timestamp = 0x1122334455667788
        with opened(path) as schema:
            schema.accept_block(BlockSpendInfo(1, timestamp, [], [reward(1)]))
        self.change(path, timestamp.to_bytes(8), bytes(8))
        wrong = r"data\.mdb: an entry of it does not match its checksum; "
        with (
            opened(path, read_only=True) as schema,
            pytest.raises(CorruptDatabaseError, match=wrong),
        ):
            list(schema.blocks())

    @pytest.mark.parametrize("n_spends", [0, 1, 100, 2_000])
    def test_of_a_value_of_any_length_is_found_by_who_reads_a_part(
        self, path: Path, n_spends: int
    ) -> None:
        """A coin's answer has its block's timestamp, and of a block's head nothing else."""
        timestamp = 0x1122334455667788
        coins = [reward(1, n) for n in range(n_spends)]
        paid = Coin(hash_of("payer"), hash_of("payee"), 1)
        query = CoinQuery(CoinKey.PUZZLE_HASH, paid.puzzle_hash)
        with indexed(path) as schema:
            spends = [coin.name() for coin in coins]
            accept_all(schema, [BlockSpendInfo(1, 0, [], coins)])
            accept_all(schema, [BlockSpendInfo(2, timestamp, spends, [paid])])
        with indexed(path, read_only=True) as schema:
            assert len(schema.coins_packed(query)) == COIN_BYTES
        self.change(path, timestamp.to_bytes(8), bytes(8))
        wrong = pytest.raises(CorruptDatabaseError, match="does not match its checksum; ")
        with indexed(path, read_only=True) as schema, wrong:
            schema.coins_packed(query)

    def test_of_a_key_is_found_by_verify(self, loaded: Path) -> None:
        """A look-up believes that there is no such coin."""
        coin = next(coin for block in CHAIN.blocks for coin in block.confirms)
        name = coin.name()
        other = name[:-1] + bytes([name[-1] ^ 1])
        self.change(loaded, name, other)
        with opened(loaded, read_only=True) as schema, pytest.raises(CdbError):
            verify(schema)
        with pytest.raises(CorruptDatabaseError):
            list(KIND.check(loaded, lambda _: None))

    def test_of_a_key_makes_no_other_coin_of_it(self, loaded: Path) -> None:
        coin = next(coin for block in CHAIN.blocks for coin in block.confirms)
        name = coin.name()
        other = bytes32(name[:-1] + bytes([name[-1] ^ 1]))
        self.change(loaded, name, other)
        wrong = r"data\.mdb: an entry of it does not match its checksum; "
        with (
            opened(loaded, read_only=True) as schema,
            pytest.raises(CorruptDatabaseError, match=wrong),
        ):
            schema.coin_infos_for_coin_names([other])

    def test_blocks_before_it_are_read(self, path: Path) -> None:
        blocks = [block_at(index, coins=40) for index in range(20)]
        with opened(path) as schema:
            schema.accept_packed(PackedBlocks.of(blocks))
        self.change(path, blocks[9].confirms[7].parent_coin_name, hash_of("another one"))
        read: list[BlockSpendInfo] = []
        with opened(path, read_only=True) as schema, pytest.raises(CorruptDatabaseError):
            read.extend(schema.blocks())
        assert read == [canonical(block) for block in blocks[: len(read)]]
        assert len(read) == 9

    @pytest.mark.parametrize("seed", range(4))
    def test_a_meta_page_that_counts_pages_that_nobody_has_is_damage(
        self, loaded: Path, seed: int
    ) -> None:
        """LMDB maps as many as that, and finds no memory."""
        file = loaded / "db/data.mdb"
        with file.open("r+b") as data:
            data.seek(52)
            data.write(random.Random(seed).randbytes(512))
        with pytest.raises(CorruptDatabaseError):
            opened(loaded, read_only=True)


class TestMissing:
    @pytest.fixture(autouse=True)
    def no_engine(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "cdb.engines._lmdb", None)

    def test_it_says_what_to_install(self, path: Path) -> None:
        assert "liblmdb-dev" in str(KIND.engine.missing())
        with pytest.raises(MissingEngineError, match="liblmdb-dev"):
            opened(path)
        assert not path.exists()


@pytest.mark.parametrize(
    ("memory", "entries"),
    [
        (24 * 10**9, 6_000_000),
        (3 * 10**9, 2_993_763),
        (1_300 * 10**6, 160_430),
        (300 * 10**6, 10_009),
        (10**6, 2_000),
    ],
)
def test_a_commit_fits_into_memory(
    memory: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_a_commit_fits(KIND, memory, entries, monkeypatch)
