"""How rows are put together into statements, where there are more nodes than copies of a row."""

from dataclasses import replace
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest

from cdb.contract.durability import Durability
from cdb.errors import (
    DatabaseLockedError,
    DatabaseNotFoundError,
    StorageError,
    UnsupportedError,
    WrongDatabaseError,
)
from cdb.stores.cassandra.cql import (
    BATCH_BYTES,
    BATCH_ROWS,
    COLUMNS,
    FAR_NODES,
    IN_KEYS,
    CqlTables,
    _told,
    cluster_of,
)
from cdb.stores.cassandra.place import place_of
from cdb.stores.cassandra.rows import PART_BYTES, Row, Table
from cdb.stores.cassandra.state import State

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


@pytest.mark.parametrize(
    ("syncs", "error"),
    [
        (["group", "batch", "group"], None),
        (["group", "hangs", "down"], None),
        (["group", "periodic", "group"], "node b has commitlog_sync: periodic, which a power cut"),
        (["group", "unknown", "group"], "node b has commitlog_sync: unknown"),
        (["hangs", "hangs", "down"], "no node tells its commitlog_sync"),
    ],
)
def test_power_takes_nodes_that_sync_as_far_as_they_can_be_asked(
    tables: CqlTables, syncs: list[str], error: str | None
) -> None:
    driver = pytest.importorskip("cassandra", reason="the driver is not installed here")

    def execute(query: str, values: tuple[str], host: SimpleNamespace) -> list[tuple[str]]:
        assert host.is_up
        if host.sync == "hangs":
            raise driver.OperationTimedOut
        return [] if host.sync == "unknown" else [(host.sync,)]

    hosts = [
        SimpleNamespace(address=address, is_up=sync != "down", sync=sync)
        for address, sync in zip("abc", syncs, strict=True)
    ]
    of_driver: Any = tables
    of_driver._session = SimpleNamespace(execute=execute)
    of_driver._cluster.metadata.all_hosts = lambda: hosts
    of_driver._cluster.metadata.keyspaces["cdb"].durable_writes = True
    if error is None:
        tables.check_keeps(Durability.POWER)
    else:
        with pytest.raises((StorageError, UnsupportedError), match=error):
            tables.check_keeps(Durability.POWER)
    tables.check_keeps(Durability.PROCESS)


@pytest.mark.parametrize(
    ("options", "is_asked"), [("", True), ("?consistency=local_quorum&dc=east", False)]
)
def test_far_nodes_are_asked_where_they_count_in_a_quorum(options: str, *, is_asked: bool) -> None:
    pytest.importorskip("cassandra", reason="the driver is not installed here")
    cluster = cluster_of(place_of(f"cassandra://127.0.0.1:1/c{options}", {}))
    try:
        near = cluster.profile_manager.default.load_balancing_policy._child_policy
        assert near.used_hosts_per_remote_dc == (FAR_NODES if is_asked else 0)
        assert FAR_NODES >= 1_000  # all of them: those that are not asked count, too
    finally:
        cluster.shutdown()


@pytest.mark.parametrize(("dc", "is_told"), [("", False), ("east", False), ("nope", True)])
def test_a_data_centre_that_there_is_not(tables: CqlTables, dc: str, *, is_told: bool) -> None:
    of_driver: Any = tables
    of_driver._place = replace(place_of("cassandra://a/c", {}), dc=dc)
    hosts = [SimpleNamespace(datacenter=each) for each in ("east", "west")]
    of_driver._cluster.metadata.all_hosts = lambda: hosts
    if is_told:
        with pytest.raises(UnsupportedError, match="data centre nope; there are east, west"):
            tables._check_dc()
    else:
        tables._check_dc()


def test_where_a_node_hangs_another_one_is_asked_too(tables: CqlTables) -> None:
    """Each statement: of one that is asked of the same node again and again nothing comes."""
    pytest.importorskip("cassandra", reason="the driver is not installed here")
    cluster = cluster_of(place_of("cassandra://127.0.0.1:1/c", {}))
    try:
        profile = cluster.profile_manager.default
        plan = profile.speculative_execution_policy.new_plan("cdb", None)
        assert 0 < plan.next_execution("a node") < profile.request_timeout / 10
        assert cluster.idle_heartbeat_interval + cluster.idle_heartbeat_timeout <= 10
        assert not cluster.prepare_on_all_hosts
    finally:
        cluster.shutdown()
    of_driver: Any = tables
    of_driver._session = SimpleNamespace(prepare=lambda text: SimpleNamespace(text=text))
    assert all(each.is_idempotent for each in tables._prepared().values())


@pytest.mark.parametrize(
    ("there", "error"),
    [
        ({}, "has no cdb tables"),
        ({"state": {"name"}, "users": {"id"}}, "is somebody else's"),
        ({"users": {"id"}}, "is somebody else's"),
        ({"coin": COLUMNS["coin"], "users": {"id"}}, "is somebody else's"),
        ({**COLUMNS, "part": {"id", "data"}}, "is somebody else's"),
        ({"coin": COLUMNS["coin"]}, "has no cdb tables"),
        ({**COLUMNS, "users": {"id"}}, None),
        ({**COLUMNS, "state": COLUMNS["state"] | {"more"}}, None),
    ],
)
def test_a_keyspace_is_told_from_somebody_elses_by_its_columns(
    tables: CqlTables, there: dict[str, set[str]], error: str | None
) -> None:
    of_driver: Any = tables
    of_driver._columns_there = lambda: there
    of_driver._wait_for_tables = lambda seconds: True
    if error is None:
        tables._find_tables(read_only=True)
    else:
        with pytest.raises((WrongDatabaseError, DatabaseNotFoundError), match=error):
            tables._find_tables(read_only=True)


def test_all_columns_are_known() -> None:
    named = {table: {*columns} for table, columns in (each.value for each in Table)}
    assert all(COLUMNS[table] >= columns for table, columns in named.items())
    assert {len(columns) for columns in COLUMNS.values()} == {9, 4, 3}


@pytest.mark.parametrize(("copies", "is_told"), [(0, False), (COPIES, False), (1, True)])
def test_copies_that_a_keyspace_does_not_keep_are_not_promised(
    tables: CqlTables, copies: int, *, is_told: bool
) -> None:
    of_driver: Any = tables
    of_driver._place = replace(place_of("cassandra://a/c", {}), replication=copies)
    if is_told:
        with pytest.raises(UnsupportedError, match=f"cdb keeps {COPIES} copies, not 1; ALTER it"):
            tables._check_copies()
    else:
        tables._check_copies()


OLD = State(b"a chain").taken_over()
NEW = OLD.grown([7], 1)
OTHERS = OLD.taken_over()


@pytest.mark.parametrize(
    ("tries", "left", "error"),
    [
        (["applied"], NEW, None),
        (["applied, unknown"], NEW, None),
        (["applied elsewhere, refused"], NEW, None),  # two nodes were asked
        (["unknown", "applied"], NEW, None),
        (["unknown", "unknown", "applied, unknown"], NEW, None),
        (["late, unknown", "refused"], NEW, None),  # the first try is made meanwhile
        (["taken over, unknown", "refused"], OTHERS, "another writer has taken it over"),
        (["taken over, refused"], OTHERS, "another writer has taken it over"),
        (["unknown"] * 20, OLD, "the cluster does not answer"),
    ],
)
def test_of_a_change_whose_result_is_unknown_the_state_tells(
    tables: CqlTables, tries: list[str], left: State, error: str | None
) -> None:
    driver = pytest.importorskip("cassandra", reason="the driver is not installed here")
    there = OLD
    came = iter(tries)

    def send(statement: object) -> SimpleNamespace:
        return SimpleNamespace(result=result)

    def result() -> SimpleNamespace:
        nonlocal there
        what = next(came)
        there = NEW if what.startswith("applied") else there
        there = OTHERS if what.startswith("taken over") else there
        if what.startswith("late"):
            # Read now it is the old one; the next try finds it done.
            reads.append(OLD)
            there = NEW
        if what.endswith("unknown"):
            raise driver.OperationTimedOut
        return SimpleNamespace(was_applied=what == "applied")

    reads: list[State] = []
    of_driver: Any = tables
    of_driver._is_closed = False
    of_driver._place = place_of("cassandra://a/c?patience=1", {})
    of_driver._statements = {"change": SimpleNamespace(bind=lambda values: values)}
    of_driver._sent = send
    of_driver.state = lambda: reads.pop() if reads else there
    if error is None:
        tables.change(OLD, NEW)
        assert next(came, None) is None
    else:
        with pytest.raises((StorageError, DatabaseLockedError), match=error):
            tables.change(OLD, NEW)
    assert there == left


def test_what_the_cluster_does_is_told_in_one_line() -> None:
    driver = pytest.importorskip("cassandra", reason="the driver is not installed here")
    of_cluster = pytest.importorskip("cassandra.cluster", reason="the driver is not installed here")
    place = place_of("cassandra://a/c", {})
    words = "Tried connecting to [('127.0.0.1', 9042)].\nLast error: Connection refused"
    refused = {"127.0.0.1:9042": ConnectionRefusedError(111, words)}
    for error, told in {
        of_cluster.NoHostAvailable("no host", refused): (
            "the cluster does not answer for 30 s (127.0.0.1:9042: Connection refused); is it up?"
        ),
        driver.OperationTimedOut({"127.0.0.1:9042": "Client request timeout"}): (
            "the cluster does not answer for 30 s (127.0.0.1:9042: Client request timeout);"
            " is it up?"
        ),
        driver.Unavailable("", required_replicas=2, alive_replicas=1): (
            "1 of 2 nodes that are needed are up for 30 s; start the others"
        ),
        driver.UnresolvableContactPoints({}): "none of these hosts has an address",
        driver.InvalidRequest("no such table"): "the cluster refuses: no such table",
        driver.protocol.ConfigurationException(0, "no such dc", {}): (
            "the cluster refuses: <Error from server: code=0000"
            ' [Query invalid because of configuration issue] message="no such dc">'
        ),
        driver.protocol.SyntaxException(0, "no such word", {}): (
            "the cluster refuses: <Error from server: code=0000 [Syntax error in CQL query]"
            ' message="no such word">'
        ),
    }.items():
        assert str(_told(place, error, 30.4)) == f"cassandra://a/c: {told}"
    nowhere = place_of("cassandra://a/c?dc=west", {})
    assert "is it up, and is west its data centre?" in str(
        _told(nowhere, of_cluster.NoHostAvailable("no host", ["a"]), 1)
    )
