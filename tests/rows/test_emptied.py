"""An SQLite file that was emptied is no new database, and a full disk is no reason not to read."""

import os
from pathlib import Path

import pytest

from cdb.contract.blocks import canonical
from cdb.errors import CorruptDatabaseError, DatabaseError
from cdb.schemas import find_schema
from cdb.testing.base import accept_all
from cdb.testing.chains import sample_chain
from tests.conftest import contents, copy_at_rest, largest_file

BLOCKS = list(map(canonical, sample_chain().blocks))
FILES = {"blockchain_v2": "db", "sqlite_v3": "db/coins.sqlite", "flat_file": "db/coins.sqlite"}


@pytest.fixture(params=FILES)
def schema(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def crashed(schema: str, tmp_path: Path) -> Path:
    """The SQLite file of a database that a crash left after its first flush."""
    (tmp_path / "open").mkdir()
    with find_schema(schema).open(tmp_path / "open" / "db") as database:
        accept_all(database, BLOCKS)
        database.flush()
        copy_at_rest(tmp_path / "open", tmp_path / "copy")
    return tmp_path / "copy" / FILES[schema]


@pytest.mark.parametrize("missing", [True, False])
def test_what_its_wal_belies_is_damage(schema: str, crashed: Path, *, missing: bool) -> None:
    if missing:
        crashed.unlink()
    else:
        os.truncate(crashed, 0)
    database = crashed if schema == "blockchain_v2" else crashed.parent
    before = contents(database.parent)
    for read_only in (True, False):
        if missing and read_only and schema == "blockchain_v2":
            continue  # no database is there, as far as its path goes
        problem = "emptied or removed, and its -wal has .*; use a backup, or load a new database"
        with pytest.raises(CorruptDatabaseError, match=problem):
            find_schema(schema).open(database, read_only=read_only)
        assert contents(database.parent) == before


@pytest.mark.parametrize("how", ["wal", "all"])
@pytest.mark.parametrize("schema", ["sqlite_v3", "flat_file"], indirect=True)
def test_what_its_index_belies_is_damage(schema: str, crashed: Path, how: str) -> None:
    wal = crashed.with_name(f"{crashed.name}-wal")
    wal.unlink()
    if how == "all":
        crashed.unlink()
    with pytest.raises(DatabaseError, match=r"making was cut short|no database is here"):
        find_schema(schema).open(crashed.parent, read_only=True)
    # This is where the advice above leads to, and so would a check's: it has to be the last.
    problem = "it was emptied, or lost its -wal; use a backup, or load a new database"
    with pytest.raises(CorruptDatabaseError, match=problem):
        find_schema(schema).open(crashed.parent)


def test_a_full_disk_is_read(schema: str, crashed: Path) -> None:
    """SQLite wants to make a -shm, for which there is no room."""
    os.truncate(crashed.with_name(f"{crashed.name}-shm"), 0)
    database = crashed if schema == "blockchain_v2" else crashed.parent
    with largest_file(100), find_schema(schema).open(database, read_only=True) as opened:
        found = list(opened.blocks())
    assert found == BLOCKS
