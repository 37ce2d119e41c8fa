"""How rows are put together into statements, where there are more nodes than copies of a row."""

from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest

from cdb.stores.cassandra.cql import BATCH_BYTES, BATCH_ROWS, IN_KEYS, CqlTables
from cdb.stores.cassandra.place import place_of
from cdb.stores.cassandra.rows import PART_BYTES, Row, Table

N_NODES, COPIES = 5, 3
KEYS = [sha256(bytes([n % 256, n // 256])).digest() for n in range(1_000)]


def nodes_with(key: bytes) -> list[SimpleNamespace]:
    """The nodes that have a row, as the ring says."""
    first = key[0] % N_NODES
    return [SimpleNamespace(host_id=(first + n) % N_NODES) for n in range(COPIES)]


@pytest.fixture(params=["NetworkTopologyStrategy", "SimpleStrategy"])
def tables(request: pytest.FixtureRequest) -> CqlTables:
    """Those of a cluster of five, each row three times."""
    simple = request.param == "SimpleStrategy"
    of_strategy = (
        {"replication_factor": COPIES} if simple else {"dc_replication_factors": {"dc": COPIES}}
    )
    keyspace = SimpleNamespace(replication_strategy=SimpleNamespace(**of_strategy))
    metadata = SimpleNamespace(
        keyspaces={"cdb": keyspace},
        all_hosts=lambda: [*range(N_NODES)],
        get_replicas=lambda keyspace, key: nodes_with(key),
    )
    made: Any = object.__new__(CqlTables)
    made._cluster = SimpleNamespace(metadata=metadata)
    made._place = place_of("cassandra://a/c", {})
    made._statements = dict.fromkeys(Table, "statement")
    made._batch = lambda statement, rows: rows
    tables: CqlTables = made
    return tables


def ring(keys: list[bytes]) -> set[tuple[int, ...]]:
    return {tuple(node.host_id for node in nodes_with(key)) for key in keys}


def test_each_statement_asks_nodes_that_have_all_of_its_rows(tables: CqlTables) -> None:
    asked = [*tables._together(KEYS)]
    assert sorted(key for keys in asked for key in keys) == sorted(KEYS)
    assert all(len(ring(keys)) == 1 and len(keys) <= IN_KEYS for keys in asked)


def test_each_batch_is_of_nodes_that_have_all_of_its_rows(tables: CqlTables) -> None:
    coins: list[Row] = [(key, 1, b"born") for key in KEYS]
    parts: list[Row] = [(key, 0, bytes(PART_BYTES)) for key in KEYS[:40]]
    batches: list[Any] = [*tables._batches({Table.COIN: coins, Table.PART: parts})]
    assert sorted(row for rows in batches for row in rows) == sorted([*coins, *parts])
    for rows in batches:
        assert len(ring([row[0] for row in rows])) == 1
        assert len(rows) <= BATCH_ROWS
        size = sum(len(value) for row in rows for value in row if isinstance(value, bytes))
        assert len(rows) == 1 or size <= BATCH_BYTES
