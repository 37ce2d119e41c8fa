"""mdbx_kv: what MDBX is to the contract, where it differs from LMDB."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.contract.durability import Durability
from cdb.errors import CorruptDatabaseError, DatabaseLockedError, StorageError, UnsupportedError
from cdb.process.children import fork
from cdb.schemas import find_schema
from cdb.schemas.mdbx_kv import KIND
from cdb.stores.coin_set.binding import CoinSet, Options
from cdb.stores.coin_set.schema import CoinSetSchema
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, hash_of, sample_chain
from tests.conftest import largest_file
from tests.engines import check_a_commit_fits
from tests.in_fork import exit_code

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

opened = partial(CoinSetSchema, KIND)
SMALL = partial(opened, commit_entries=40, ingest_entries=15)
CHAIN = sample_chain(30)
MANY = 2_000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


def test_readers_keep_their_moment_beside_any_number_of_writers(path: Path) -> None:
    with SMALL(path) as writer:
        accept_all(writer, CHAIN.blocks[:10])
        writer.flush()
        reader = opened(path, read_only=True)  # in the same process
        accept_all(writer, CHAIN.blocks[10:20])
        writer.flush()
        later = opened(path, read_only=True)
    with opened(path) as writer:
        writer.rewind_to_block_index(CHAIN.blocks[3].index)
        for index in range(1_000, 1_010):  # enough to use every free page again
            writer.accept_block(block_at(index, coins=200))
            writer.flush()
        assert verify(reader) == expected_state(CHAIN.blocks[:10])
        assert verify(later) == expected_state(CHAIN.blocks[:20])
        reader.close()
        later.close()
        assert verify(writer).newest_index == 1_009


def test_pages_are_used_again_when_nobody_reads_any_more(path: Path) -> None:
    def rewrite(writer: CoinSetSchema) -> int:
        for index in range(100, 110):
            writer.accept_block(block_at(index, coins=MANY))
            writer.flush()
        writer.rewind_to_block_index(99)
        return (path / "db/mdbx.dat").stat().st_size

    with SMALL(path) as writer:
        accept_all(writer, CHAIN.blocks[:3])
        rewrite(writer)
        before = rewrite(writer)
        with opened(path, read_only=True):
            held = rewrite(writer)
        assert held > 1.3 * before
        assert rewrite(writer) < 1.2 * held


def test_a_second_writer_is_refused(path: Path) -> None:
    options = Options("interval", False, False, True, 1, 1, 1)
    with (
        opened(path),
        pytest.raises(DatabaseLockedError, match="somebody has it open for writing"),
    ):
        CoinSet(KIND.engine, path / "db", options)
    CoinSet(KIND.engine, path / "db", options).close()


def test_a_child_holds_no_lock_and_writes_a_database_of_its_own(path: Path) -> None:
    wait_for_end, end = os.pipe()
    wait_for_child, lives = os.pipe()

    def live() -> None:
        os.close(end)
        with opened(path.parent / "own") as own:
            accept_all(own, CHAIN.blocks)
        os.write(lives, b".")
        os.read(wait_for_end, 1)

    schema = opened(path)
    child = fork(live)
    assert os.read(wait_for_child, 1) == b"."
    schema.close()
    try:
        with opened(path) as schema:
            accept_all(schema, CHAIN.blocks)
    finally:
        for each in (end, wait_for_end, wait_for_child, lives):
            os.close(each)
        os.waitpid(child, 0)
    with opened(path.parent / "own") as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)


@pytest.mark.parametrize("durability", [Durability.POWER, Durability.PROCESS])
def test_what_was_flushed_survives_a_kill(path: Path, durability: Durability) -> None:
    def load_and_die() -> None:
        schema = SMALL(path, durability=durability)
        accept_all(schema, CHAIN.blocks)
        schema.flush()
        os._exit(9)

    assert exit_code(load_and_die) == 9
    with SMALL(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)


def test_a_file_that_may_not_grow_is_a_storage_error(path: Path) -> None:
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks)
        schema.flush()
        size = (path / "db/mdbx.dat").stat().st_size
        blocks = [block_at(index, coins=MANY) for index in range(1_000, 1_100)]
        with largest_file(size), pytest.raises(StorageError, match=r"mdbx\.dat"):
            accept_all(schema, blocks)
    with SMALL(path) as schema:
        assert (verify(schema).newest_index or 0) >= CHAIN.newest_index


@pytest.mark.parametrize("is_iterating", [False, True])
def test_its_map_grows_where_there_are_few_addresses(path: Path, is_iterating: bool) -> None:
    code = f"""
import sys; sys.path[:0] = [{str(Path(__file__).parents[2])!r}]
from pathlib import PosixPath
from tests.schemas.test_lmdb_kv import FIRST_MAP_BYTES, block_at, have_few_addresses
from tests.schemas.test_mdbx_kv import MANY, opened, verify, expected_state
path = {path!r}
have_few_addresses()
blocks = []
with opened(path, commit_entries=4_000, ingest_entries=3_000) as schema:
    while (path / "db/mdbx.dat").stat().st_size <= FIRST_MAP_BYTES:
        blocks.append(block_at(len(blocks) + 1, coins=MANY))
        schema.accept_block(blocks[-1])
        schema.flush()
        if len(blocks) == 1 and {is_iterating}:
            iteration = schema.blocks()
            next(iteration)
    assert verify(schema) == expected_state(blocks)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    if is_iterating:
        assert "end all iterations" in done.stderr
    else:
        assert done.returncode == 0, done.stderr


def test_other_levels_are_refused(path: Path) -> None:
    with pytest.raises(UnsupportedError, match="it offers power, process"):
        find_schema("interval@mdbx").open(path, durability=Durability.NONE)


class TestDamage:
    @pytest.fixture
    def loaded(self, path: Path) -> Path:
        with opened(path) as schema:
            accept_all(schema, CHAIN.blocks)
        return path

    def test_of_a_value_is_found_by_every_reading(self, loaded: Path) -> None:
        coin = next(coin for block in CHAIN.blocks for coin in block.confirms)
        file = loaded / "db/mdbx.dat"
        data = file.read_bytes()
        assert data.count(coin.puzzle_hash)
        file.write_bytes(data.replace(coin.puzzle_hash, hash_of("another one")))
        with opened(loaded, read_only=True) as schema:
            wrong = r"mdbx\.dat: an entry of it does not match its checksum; "
            with pytest.raises(CorruptDatabaseError, match=wrong):
                schema.coin_infos_for_coin_names([coin.name()])
            with pytest.raises(CorruptDatabaseError, match=wrong):
                list(schema.blocks())

    @pytest.mark.parametrize("is_writer", [True, False])
    def test_a_file_that_is_cut_is_an_error(self, loaded: Path, is_writer: bool) -> None:
        file = loaded / "db/mdbx.dat"

        def read_cut(left: int) -> None:
            os.truncate(file, left)
            try:
                with opened(loaded, read_only=not is_writer) as schema:
                    assert verify(schema) == expected_state(CHAIN.blocks)
            except (CorruptDatabaseError, StorageError):
                pass

        for left in range(file.stat().st_size - 1, -1, -40_950):
            assert exit_code(partial(read_cut, left)) == 0

    def test_one_that_is_cut_while_it_is_open(self, loaded: Path) -> None:
        def read_what_was_cut() -> None:
            with opened(loaded) as schema:
                blocks = schema.blocks()
                os.truncate(loaded / "db/mdbx.dat", 3 * 4_096)
                for read in (lambda: verify(schema), lambda: next(blocks), schema.settle):
                    with pytest.raises(StorageError, match=r"mdbx\.dat: a part of it cannot be"):
                        read()

        assert exit_code(read_what_was_cut) == 0


@pytest.mark.parametrize(
    ("memory", "entries"), [(24 * 10**9, 6_000_000), (300 * 10**6, 17_663), (10**6, 10_000)]
)
def test_a_commit_fits_into_memory(
    memory: int, entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_a_commit_fits(KIND, memory, entries, monkeypatch)
