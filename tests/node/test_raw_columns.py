"""blockchain_v2 stores what a node stores, column by column, also after going back."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cdb.contract.durability import Durability
from cdb.schemas import SchemaInfo, find_schema, open_schema

if TYPE_CHECKING:
    from tests.node.conftest import NodeDatabase

NODE = "cdb.schemas.blockchain_v2:NODE"
SPECS = ("blockchain_v2", NODE)
COLUMNS = (
    "coin_name, confirmed_index, spent_index, coinbase, puzzle_hash, coin_parent, amount, timestamp"
)
# Newer nodes add it to speed up one query of their own: only the coins marked with -1.
FAST_FORWARD_INDEX = "coin_record_ph_ff_unspent_idx"


@pytest.fixture(params=SPECS)
def schema(request: pytest.FixtureRequest) -> SchemaInfo:
    return find_schema(request.param)


def query(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def raw_coins(path: Path) -> list[tuple[Any, ...]]:
    return query(path, f"SELECT {COLUMNS} FROM coin_record ORDER BY coin_name")  # noqa: S608


def load(schema: SchemaInfo, node: NodeDatabase, path: Path) -> None:
    with schema.open(path, durability=Durability.NONE) as database:
        for block in node.state.blocks:
            database.accept_block(block)


def difference(found: Iterable[object], right: Iterable[object]) -> list[tuple[object, object]]:
    """A few rows that differ: a whole table is too much to print."""
    return [pair for pair in zip(found, right, strict=True) if pair[0] != pair[1]][:3]


def test_the_truth_is_what_the_node_stored(node: NodeDatabase, tmp_path: Path) -> None:
    path = node.copy_to(tmp_path / "node.sqlite")
    assert difference(raw_coins(path), node.state.columns) == []


def test_raw_columns_after_a_load(schema: SchemaInfo, node: NodeDatabase, tmp_path: Path) -> None:
    path = tmp_path / "own.sqlite"
    load(schema, node, path)
    assert difference(raw_coins(path), node.state.columns) == []
    assert query(path, "SELECT version FROM database_version") == [(2,)]
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_raw_columns_after_every_rollback(
    schema: SchemaInfo, node: NodeDatabase, tmp_path: Path
) -> None:
    original, copy = tmp_path / "own.sqlite", tmp_path / "copy.sqlite"
    load(schema, node, original)
    for rollback in node.rollbacks:
        shutil.copyfile(original, copy)
        with schema.open(copy, durability=Durability.NONE) as database:
            database.rewind_to_block_index(rollback.height)
        found = raw_coins(copy)
        assert len(found) == rollback.n_coins
        assert difference(found, rollback.state.columns) == [], rollback.height


def test_raw_columns_after_going_back_and_forth(
    schema: SchemaInfo, small: NodeDatabase, tmp_path: Path
) -> None:
    path = tmp_path / "own.sqlite"
    load(schema, small, path)
    with schema.open(path, durability=Durability.NONE) as database:
        for height in sorted({rollback.height for rollback in small.rollbacks}, reverse=True):
            database.rewind_to_block_index(height)
            for block in small.state.blocks:
                if block.index > height:
                    database.accept_block(block)
    assert difference(raw_coins(path), small.state.columns) == []


def definitions(path: Path) -> dict[tuple[str, str], str | None]:
    """The SQL of coin_record and its indexes, in one spelling; None for the primary key's."""
    rows = query(path, "SELECT type, name, sql FROM sqlite_master WHERE tbl_name = 'coin_record'")
    return {(kind, name): sql and in_one_spelling(sql) for kind, name, sql in rows}


def in_one_spelling(sql: str) -> str:
    words = sql.replace("(", " ( ").replace(")", " ) ").replace(",", " , ").split()
    return " ".join(words).lower().replace(" if not exists", "")


def test_the_table_and_its_indexes_are_the_nodes(node: NodeDatabase, tmp_path: Path) -> None:
    theirs = definitions(node.copy_to(tmp_path / "node.sqlite"))
    theirs.pop(("index", FAST_FORWARD_INDEX), None)
    path = tmp_path / "own.sqlite"
    open_schema(NODE, path).close()
    assert definitions(path) == theirs
    assert len(theirs) == 6


def test_the_benchmark_set_is_a_part_of_it(mainnet: NodeDatabase, tmp_path: Path) -> None:
    path = tmp_path / "own.sqlite"
    open_schema("blockchain_v2", path).close()
    ours, theirs = definitions(path), definitions(mainnet.copy_to(tmp_path / "node.sqlite"))
    assert ours.items() <= theirs.items()
    assert {name for _, name in ours} == {
        "coin_record",
        "sqlite_autoindex_coin_record_1",
        "coin_parent_index",
    }


def test_an_existing_database_keeps_its_indexes(mainnet: NodeDatabase, tmp_path: Path) -> None:
    path = tmp_path / "own.sqlite"
    open_schema(NODE, path).close()
    before = definitions(path)
    load(find_schema("blockchain_v2"), mainnet, path)
    assert definitions(path) == before
