"""sqlite_kv: what SQLite as an engine of keys and values is to the contract."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from cdb.contents.state import verify
from cdb.contract.blocks import canonical
from cdb.errors import CorruptDatabaseError, DatabaseLockedError, StorageError, UnsupportedError
from cdb.process.children import fork
from cdb.schemas.sqlite_kv import KIND
from cdb.stores.coin_set.binding import CoinSet, Options
from cdb.stores.coin_set.schema import CoinSetSchema
from cdb.testing.base import accept_all, expected_state
from cdb.testing.chains import block_at, hash_of, sample_chain
from tests.conftest import ROOT, largest_file

pytestmark = pytest.mark.skipif(
    KIND.engine.missing() is not None, reason=str(KIND.engine.missing())
)

opened = partial(CoinSetSchema, KIND)
SMALL = partial(opened, commit_entries=40, ingest_entries=15)
CHAIN = sample_chain(30)
MANY = 2_000
MOST_ITERATIONS = 250


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "database"


@pytest.fixture
def loaded(path: Path) -> Path:
    with opened(path) as schema:
        accept_all(schema, CHAIN.blocks)
    return path


def test_readers_keep_their_moment_beside_any_number_of_writers(path: Path) -> None:
    with SMALL(path) as writer:
        accept_all(writer, CHAIN.blocks[:10])
        writer.flush()
        reader = opened(path, read_only=True)  # in the same process
        accept_all(writer, CHAIN.blocks[10:])
        writer.flush()
    with opened(path) as writer:
        writer.rewind_to_block_index(CHAIN.blocks[3].index)
        writer.settle()
        assert verify(reader) == expected_state(CHAIN.blocks[:10])
        reader.close()
        writer.settle()
        assert (path / "db/data.sqlite-wal").stat().st_size == 0


def test_a_second_writer_is_refused(path: Path) -> None:
    options = Options("interval", False, False, True, 1, 1, 1)
    with (
        opened(path),
        pytest.raises(DatabaseLockedError, match="somebody has it open for writing"),
    ):
        CoinSet(KIND.engine, path / "db", options)
    CoinSet(KIND.engine, path / "db", options).close()


def test_a_child_opens_none_and_holds_no_lock(path: Path) -> None:
    wait_for_end, end = os.pipe()

    def be_refused() -> None:
        os.close(end)
        with pytest.raises(UnsupportedError, match="start a new process"):
            opened(path, read_only=True)
        os.read(wait_for_end, 1)

    schema = opened(path)
    child = fork(be_refused)
    schema.close()
    try:
        with opened(path) as schema:
            accept_all(schema, CHAIN.blocks)
    finally:
        os.close(end)
        os.close(wait_for_end)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


LOAD_AND_DIE = """
import os, sys
sys.path.insert(0, sys.argv[1])
from cdb.contract.durability import Durability
from tests.schemas.test_sqlite_kv import CHAIN, SMALL, Path, accept_all
schema = SMALL(Path(sys.argv[2]), durability=Durability[sys.argv[3]])
accept_all(schema, CHAIN.blocks)
schema.flush()
os._exit(9)
"""


@pytest.mark.parametrize("durability", ["POWER", "PROCESS"])
def test_what_was_flushed_survives_a_kill(path: Path, durability: str) -> None:
    command = [sys.executable, "-c", LOAD_AND_DIE, str(ROOT), str(path), durability]
    assert subprocess.run(command, check=False).returncode == 9
    with SMALL(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)


def test_a_file_that_may_not_grow_is_a_storage_error(path: Path) -> None:
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks)
        schema.flush()
        size = (path / "db/data.sqlite-wal").stat().st_size
        with largest_file(size), pytest.raises(StorageError, match=r"data\.sqlite"):
            schema.accept_block(block_at(1_000, coins=MANY))
    with SMALL(path) as schema:
        assert verify(schema) == expected_state(CHAIN.blocks)


def test_too_many_iterations_are_one_clear_error(path: Path) -> None:
    with SMALL(path) as schema:
        accept_all(schema, CHAIN.blocks)
        schema.flush()
        iterations = [schema.blocks() for _ in range(MOST_ITERATIONS)]
        for each in iterations[-3:]:
            assert next(each) == canonical(CHAIN.blocks[0])
        with pytest.raises(UnsupportedError, match="250 iterations are open; end those that"):
            schema.blocks()
        schema.accept_block(block_at(1_000, coins=MANY))
        schema.flush()
        iterations.clear()
        assert verify(schema).newest_index == 1_000


class TestDamage:
    def test_of_a_value_is_found_by_every_reading(self, loaded: Path) -> None:
        coin = next(coin for block in CHAIN.blocks for coin in block.confirms)
        file = loaded / "db/data.sqlite"
        data = file.read_bytes()
        assert data.count(coin.puzzle_hash)
        file.write_bytes(data.replace(coin.puzzle_hash, hash_of("another one")))
        with opened(loaded, read_only=True) as schema:
            wrong = r"data\.sqlite: an entry of it does not match its checksum; "
            with pytest.raises(CorruptDatabaseError, match=wrong):
                schema.coin_infos_for_coin_names([coin.name()])
            with pytest.raises(CorruptDatabaseError, match=wrong):
                list(schema.blocks())

    @pytest.mark.parametrize(
        "program",
        [
            "CREATE TRIGGER extra AFTER INSERT ON coins BEGIN DELETE FROM coins; END",
            "CREATE VIEW extra AS SELECT * FROM coins",
            "DROP TABLE coins; CREATE TABLE coins(k, v, PRIMARY KEY(k)) WITHOUT ROWID",
            "DROP TABLE coins",
        ],
    )
    @pytest.mark.parametrize("read_only", [True, False])
    def test_other_tables_are_refused(self, loaded: Path, program: str, read_only: bool) -> None:
        with closing(sqlite3.connect(loaded / "db/data.sqlite")) as connection:
            connection.executescript(program)
        with pytest.raises(CorruptDatabaseError, match=r"(extra|coins) (does not|is not)"):
            opened(loaded, read_only=read_only)

    @pytest.mark.parametrize("read_only", [True, False])
    def test_an_empty_file_is_no_new_database(self, loaded: Path, read_only: bool) -> None:
        os.truncate(loaded / "db/data.sqlite", 0)
        with pytest.raises(CorruptDatabaseError, match=r"data\.sqlite: it is cut"):
            opened(loaded, read_only=read_only)
