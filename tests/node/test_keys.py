"""blockchain_v2 finds coins by the node's own indexes, in its own files and in a node's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from cdb.contract.coin_query import CoinKey, CoinQuery, unpacked_coins
from cdb.contract.coins import bytes32
from cdb.errors import CorruptDatabaseError
from cdb.schemas import Schema, offer_of, open_schema
from cdb.schemas.memory import MemorySchema
from cdb.testing.base import accept_all
from cdb.testing.chains import Chain, hash_of, sample_chain
from cdb.testing.keys import check_keys, keys_of, queries_of, random_queries

if TYPE_CHECKING:
    from tests.node.conftest import NodeDatabase

INDEXED = "blockchain_v2:INDEXED"
INDEXES = ("coin_confirmed_index", "coin_spent_index", "coin_puzzle_hash", "coin_parent_index")
MOST = 8


def check(schema: Schema, blocks: Chain) -> None:
    """It answers as the model that holds these blocks does."""
    model = MemorySchema()
    accept_all(model, blocks.blocks)
    check_keys(schema, model, MOST)
    queries = queries_of(schema)
    assert queries is not None
    for query in random_queries(blocks, Random(1), MOST):
        assert queries.coins_packed(query) == model.coins_packed(query)


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of ours with all indexes."""
    with open_schema(INDEXED, tmp_path / "database") as schema:
        accept_all(schema, sample_chain(20).blocks)
    return tmp_path / "database"


def test_a_nodes_file_is_asked_and_does_not_change(
    node: NodeDatabase, tmp_path: Path, contents: Callable[[], dict[str, tuple[bytes, int]]]
) -> None:
    path = node.copy_to(tmp_path / "node.sqlite")
    before = contents()
    with open_schema("blockchain_v2", path, read_only=True) as schema:
        check(schema, Chain.of(node.state.blocks))
    assert contents() == before


def test_coins_that_a_node_marks_for_fast_forwarding_are_unspent(
    small: NodeDatabase, tmp_path: Path
) -> None:
    marked = [row for row in small.state.coins if row.raw_spent_index == -1]
    assert marked
    path = small.copy_to(tmp_path / "node.sqlite")
    with open_schema("blockchain_v2", path, read_only=True) as schema:
        keys = keys_of(schema)
        for row in marked:
            for found in (
                keys.coin_infos_for_puzzle_hashes([row.coin.puzzle_hash], include_spent=False),
                keys.coin_infos_for_parents([row.coin.parent_coin_name], include_spent=False),
                keys.coin_infos_confirmed_at(row.confirmed_index),
            ):
                (info,) = [info for info in found if info.coin == row.coin]
                assert info.spent_index == 0
        queries = queries_of(schema)
        assert queries is not None
        unspent = unpacked_coins(queries.coins_packed(CoinQuery(spent=(0, 0))))
        assert {row.coin for row in marked} <= {info.coin for info in unspent}


@pytest.mark.parametrize("missing", INDEXES)
def test_a_nodes_file_that_lacks_an_index_offers_none(
    small: NodeDatabase, tmp_path: Path, missing: str
) -> None:
    path = small.copy_to(tmp_path / "node.sqlite")
    execute(path, f"DROP INDEX {missing}")
    with open_schema("blockchain_v2", path, read_only=True) as schema:
        assert offer_of(schema).indexed is None
        assert offer_of(schema).queries_packed is None
    column = {"coin_puzzle_hash": "puzzle_hash", "coin_parent_index": "coin_parent"}.get(
        missing, missing.removeprefix("coin_")
    )
    execute(path, f"CREATE INDEX part ON coin_record({column}) WHERE spent_index = -1")
    with open_schema("blockchain_v2", path, read_only=True) as schema:
        assert offer_of(schema).indexed is None
    execute(path, f"CREATE INDEX whole ON coin_record({column}, amount)")
    with open_schema("blockchain_v2", path, read_only=True) as schema:
        assert offer_of(schema).indexed is not None
        if missing == INDEXES[0]:
            check(schema, Chain.of(small.state.blocks))


def test_the_index_set_of_the_file_is_what_counts(path: Path, tmp_path: Path) -> None:
    for spec in (INDEXED, "blockchain_v2", "blockchain_v2:NODE"):
        for read_only in (False, True):
            with open_schema(spec, path, read_only=read_only) as schema:
                check(schema, sample_chain(20))
    benchmark = tmp_path / "benchmark"
    with open_schema("blockchain_v2", benchmark) as schema:
        assert offer_of(schema).indexed is None
    for read_only in (False, True):
        with open_schema(INDEXED, benchmark, read_only=read_only) as schema:
            assert offer_of(schema).indexed is None
            assert offer_of(schema).queries_packed is None


def test_what_is_written_is_found_before_it_is_committed(tmp_path: Path) -> None:
    chain = sample_chain(20)
    with open_schema(INDEXED, tmp_path / "database") as schema:
        accept_all(schema, chain.blocks)
        with open_schema(INDEXED, tmp_path / "database", read_only=True) as other:
            check(other, Chain())
        check(schema, chain)


def test_an_index_that_leads_to_other_coins_is_damage(path: Path) -> None:
    """As two of them do that have changed places."""
    execute(
        path,
        "PRAGMA writable_schema=ON",
        "CREATE TEMP TABLE places AS SELECT name, rootpage FROM sqlite_master",
        "UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM places WHERE name ="
        " CASE sqlite_master.name WHEN 'coin_puzzle_hash' THEN 'coin_parent_index'"
        " ELSE 'coin_puzzle_hash' END)"
        " WHERE name IN ('coin_puzzle_hash', 'coin_parent_index')",
    )
    parent = sample_chain(20).blocks[0].confirms[0].parent_coin_name
    with open_schema(INDEXED, path, read_only=True) as schema:
        with pytest.raises(CorruptDatabaseError, match="does not hold the coin that an index"):
            keys_of(schema).coin_infos_for_puzzle_hashes([parent])
        assert keys_of(schema).coin_infos_for_puzzle_hashes([hash_of("nobody")]) == []


def test_a_coin_that_does_not_have_its_name_is_damage(path: Path) -> None:
    execute(path, "UPDATE coin_record SET amount = x'0000000000000009' WHERE rowid = 3")
    with (
        open_schema(INDEXED, path, read_only=True) as schema,
        pytest.raises(CorruptDatabaseError, match="coin row 3 "),
    ):
        keys_of(schema).coin_infos_confirmed_at(0)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (CoinQuery(CoinKey.PUZZLE_HASH, bytes(32), (3, 5), (0, 0), 3), "coin_puzzle_hash"),
        (CoinQuery(CoinKey.PUZZLE_HASH, bytes(32), (3, 3), limit=5), "coin_puzzle_hash"),
        (CoinQuery(CoinKey.PARENT, bytes(32), spent=(3, 3)), "coin_parent_index"),
        (CoinQuery(CoinKey.NAME, bytes(32), (3, 3)), "sqlite_autoindex_coin_record_1"),
        (CoinQuery(confirmed=(3, 3)), "coin_confirmed_index"),
        (CoinQuery(confirmed=(3, 5), spent=(0, 0)), "coin_confirmed_index"),
        (CoinQuery(spent=(3, 3)), "coin_spent_index"),
        (CoinQuery(changed_from=3), "coin_spent_index"),
    ],
)
def test_sqlite_searches_by_the_key(path: Path, query: CoinQuery, index: str) -> None:
    with open_schema(INDEXED, path) as schema:
        connection: sqlite3.Connection = schema._backend.rows.connection  # type: ignore[attr-defined]
        statements: list[str] = []
        connection.set_trace_callback(statements.append)
        queries = queries_of(schema)
        assert queries is not None
        queries.coins_packed(query)
        connection.set_trace_callback(None)
        (statement,) = [each for each in statements if "coin_record" in each]
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}")]
    assert any(f"USING INDEX {index} " in step for step in plan)
    assert not any(step.startswith("SCAN coin_record") for step in plan)


def test_any_number_of_values_in_one_call(path: Path) -> None:
    """More than one parameter of SQLite's takes."""
    coins = [coin for block in sample_chain(20).blocks for coin in block.confirms]
    strangers = [bytes32((n * 28_000).to_bytes(4, "big") + bytes(28)) for n in range(150_000)]
    with open_schema(INDEXED, path, read_only=True) as schema:
        keys = keys_of(schema)
        parents = [coin.parent_coin_name for coin in coins]
        found = keys.coin_infos_for_parents(parents)
        assert len(found) == len(coins)
        assert keys.coin_infos_for_parents([*strangers, *parents]) == found
        assert keys.coin_infos_for_parents([*parents, *strangers], limit=7) == found[:7]
