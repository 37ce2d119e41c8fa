"""Coin rows find damage that SQLite itself takes for data."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cdb.contract.durability import Durability
from cdb.errors import CorruptDatabaseError
from cdb.schemas import find_schema, open_schema
from cdb.testing.chains import Chain, sample_chain


@pytest.fixture(scope="module")
def chain() -> Chain:
    return sample_chain(12)


@pytest.fixture
def path(tmp_path: Path, chain: Chain) -> Path:
    path = tmp_path / "database"
    with open_schema("sqlite_v3", path) as schema:
        for block in chain.blocks:
            schema.accept_block(block)
    return path


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path / "coins.sqlite")) as connection:
        changed = connection.execute(statement)
        assert changed.rowcount == 1
        connection.commit()


DAMAGE = [
    "UPDATE coin SET puzzle_hash = zeroblob(32) WHERE id = 4",
    "UPDATE coin SET parent = zeroblob(32) WHERE id = 4",
    "UPDATE coin SET amount = x'00000000000000ff' WHERE id = 4",
    "UPDATE coin SET amount = 7 WHERE id = 4",
    "UPDATE coin SET parent = 'text' WHERE id = 4",
    "DELETE FROM coin WHERE id = 4",
]


@pytest.mark.parametrize("statement", DAMAGE)
def test_a_changed_coin_is_served_neither_by_name_nor_in_its_block(
    path: Path, chain: Chain, statement: str
) -> None:
    with open_schema("sqlite_v3", path, read_only=True) as schema:
        block = schema.block_info_for_block_index(chain.blocks[1].index)
    assert block is not None
    coin = block.confirms[4 - len(chain.blocks[0].confirms) - 1]
    change(path, statement)
    with open_schema("sqlite_v3", path, read_only=True) as schema:
        with pytest.raises(CorruptDatabaseError, match=r"coins\.sqlite"):
            schema.coin_infos_for_coin_names([coin.name()])
        with pytest.raises(CorruptDatabaseError, match=r"coins\.sqlite"):
            schema.block_info_for_block_index(block.index)
        with pytest.raises(CorruptDatabaseError, match=r"coins\.sqlite"):
            list(schema.blocks())


@pytest.mark.parametrize(
    "assignment",
    [
        "timestamp = timestamp + 1",
        "first_row = first_row + 1",
        "n_confirms = n_confirms - 1",
        "spent_rows = zeroblob(8)",
        "spent_rows = x'01'",
        "spent_rows = 'text'",
        "checksum = checksum + 1",
    ],
)
def test_a_changed_block_row_is_not_served(path: Path, chain: Chain, assignment: str) -> None:
    index = chain.blocks[3].index
    change(path, f"UPDATE block SET {assignment} WHERE block_index = {index}")  # noqa: S608
    with (
        open_schema("sqlite_v3", path, read_only=True) as schema,
        pytest.raises(CorruptDatabaseError, match=r"coins\.sqlite"),
    ):
        schema.block_info_for_block_index(index)


def test_a_spend_that_no_block_made_is_damage(path: Path) -> None:
    with closing(sqlite3.connect(path / "coins.sqlite")) as connection:
        select = "SELECT max(id) FROM coin WHERE id NOT IN (SELECT id FROM spend)"
        ((unspent,),) = connection.execute(select)
    change(path, f"INSERT INTO spend SELECT {unspent}, max(block_index) FROM block")  # noqa: S608
    check = find_schema("sqlite_v3").spec.check
    assert check is not None
    problems = [damage.problem for damage in check(path, lambda coins: None)]
    assert any("coins say that they are spent, and blocks spend" in each for each in problems)


@pytest.mark.parametrize("row", [1, 7])
def test_an_index_is_not_built_from_rows_with_a_gap(path: Path, row: int) -> None:
    shutil.rmtree(path / "index")
    change(path, f"DELETE FROM coin WHERE id = {row}")  # noqa: S608
    with (
        pytest.raises(CorruptDatabaseError, match=f"coin row {row} is missing"),
        open_schema("sqlite_v3", path),
    ):
        pass


def test_an_index_that_is_deleted_is_built_again(path: Path, chain: Chain) -> None:
    shutil.rmtree(path / "index")
    with open_schema("sqlite_v3", path) as schema:
        assert len(schema.coin_infos_for_coin_names(chain.names)) == len(chain.names)


def test_an_index_of_other_coins_is_built_again_where_power_loss_may_take_commits(
    path: Path, chain: Chain, tmp_path: Path
) -> None:
    other_path = tmp_path / "other"
    with open_schema("sqlite_v3", other_path) as other:
        for block in sample_chain(30).blocks[:1]:
            other.accept_block(block)
    (other_path / "index" / "lookup.sqlite").replace(path / "index" / "lookup.sqlite")
    with closing(sqlite3.connect(path / "index" / "lookup.sqlite")) as connection:
        connection.execute("UPDATE covered SET last_name = zeroblob(32)")
        connection.commit()
    for read_only in (True, False):
        with pytest.raises(CorruptDatabaseError, match="index"):
            open_schema("sqlite_v3", path, read_only=read_only)
    with open_schema("sqlite_v3", path, durability=Durability.PROCESS) as schema:
        assert len(schema.coin_infos_for_coin_names(chain.names)) == len(chain.names)
