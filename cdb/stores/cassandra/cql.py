"""Asks Cassandra, by cassandra-driver: the only module that imports it.

Rows are written by unlogged batches and read by IN, some of each in flight. Every statement can be
repeated, and is: rows never change, and the state is changed by compare-and-set, and read again
where nobody knows whether it was.
"""

import re
import ssl
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from socket import IPPROTO_TCP, TCP_NODELAY
from typing import Any

from cdb.contract.durability import Durability
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseLockedError,
    DatabaseNotFoundError,
    StorageError,
    UnsupportedError,
    WrongDatabaseError,
    wrong_version,
)
from cdb.stores.cassandra.place import Place
from cdb.stores.cassandra.rows import Row, Table
from cdb.stores.cassandra.state import State, view_of
from cdb.stores.cassandra.tables import CoinRow

FORMAT = 2
"""Of the tables and of what is in them."""
DRIVER = "cassandra-driver"
BATCH_ROWS = 32
BATCH_BYTES = 1 << 15
"""Of more rows than one: Cassandra refuses batches above 50 KiB unless it is told otherwise."""
IN_KEYS = 64
IN_FLIGHT = 16
PAGE_PARTS = 16
PAGE_NAMES = 1_000
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.05, 1.0
ELSEWHERE_SECONDS = 0.5
"""After so long another node is asked, too: the first one may hang."""
HEARTBEAT_SECONDS = 5.0
"""Between two heartbeats of a connection, and for an answer: then what waits there is asked
elsewhere, and a node without connections is left out."""
FAR_NODES = 1_000
"""Of other data centres, that are asked where no near one answers."""
SYNCED = ("group", "batch")
"""The values of commitlog_sync at which a write that is acknowledged is on disk."""

TABLES = (
    "state (name text PRIMARY KEY, format int, chain blob, keys text, run bigint, blocks bigint,"
    " coins bigint, newest bigint, runs blob)",
    "coin (key blob, run bigint, born blob, spent blob, PRIMARY KEY (key, run))",
    "head (key blob, number bigint, run bigint, head blob, PRIMARY KEY (key, number, run))",
    "part (key blob, part int, data blob, PRIMARY KEY (key, part))",
    "keyed (key blob, confirmed bigint, name blob, PRIMARY KEY (key, confirmed, name))",
)
COLUMNS: dict[str, set[str]] = {
    text.partition(" ")[0]: {*re.findall(r"[(,] ?(\w+) (?:text|int|bigint|blob)\b", text)}
    for text in TABLES
}
"""By table."""
_STATE = "format, chain, keys, run, blocks, coins, newest, runs"


def missing() -> str | None:
    """Why there is no driver, and what to do; None where there is one."""
    try:
        found = find_spec("cassandra.cluster")
    except ModuleNotFoundError:
        found = None
    return None if found else f"{DRIVER} is missing; pip install 'coinset_db[cassandra]'"


def versions() -> list[str]:
    """The driver's."""
    return [f"{DRIVER} {version(DRIVER)}"] if missing() is None else []


class CqlTables:
    """See Tables. Opening makes the keyspace and its tables, unless it is read_only.

    Raises DatabaseNotFoundError, WrongDatabaseError, StorageError or UnsupportedError.
    """

    def __init__(self, place: Place, *, read_only: bool) -> None:
        self._place = place
        self._is_closed = False
        self._cluster, self._session = self._repeated(lambda: _connected(place))
        try:
            self._session.default_fetch_size = None
            self._check_dc()
            self._find_tables(read_only=read_only)
            self._check_copies()
            self._statements = self._prepared()
        except BaseException:
            self._cluster.shutdown()
            raise

    def write(self, rows: Mapping[Table, Sequence[Row]]) -> None:
        """See Tables."""
        for _ in self._answers(self._batches(rows)):
            pass

    def coins(self, keys: Sequence[bytes]) -> Iterator[CoinRow]:
        """See Tables."""
        statement = self._statements["coins"]
        asked = (statement.bind((each,)) for each in self._together(keys))
        for answer in self._answers(asked):
            yield from answer

    def heads(self, key: bytes) -> Sequence[tuple[int, int, bytes]]:
        """See Tables."""
        return list(self._answer(self._statements["heads"].bind((key,))))

    def parts(self, keys: Sequence[tuple[bytes, int]]) -> Iterator[list[bytes]]:
        """See Tables."""
        statement = self._statements["parts"]
        asked = (
            statement.bind((key, first, first + PAGE_PARTS))
            for key, n_parts in keys
            for first in range(0, n_parts, PAGE_PARTS)
        )
        answers = self._answers(asked)
        for _, n_parts in keys:
            pages = (next(answers) for _ in range(0, n_parts, PAGE_PARTS))
            yield [data for page in pages for (data,) in page]

    def keyed(self, keys: Iterable[bytes], first: int, last: int) -> Iterator[bytes]:
        """See Tables."""
        statement = self._statements["keyed"]
        begin = ((key, first, b"") for key in keys)
        waiting = list(begin)
        while waiting:
            page, waiting = waiting[:IN_FLIGHT], waiting[IN_FLIGHT:]
            asked = [statement.bind((*each, last)) for each in page]
            for (key, _, _), answer in zip(page, self._answers(asked), strict=True):
                rows = list(answer)
                yield from (name for _, name in rows)
                if len(rows) == PAGE_NAMES:
                    waiting.insert(0, (key, *rows[-1]))

    def state(self) -> State | None:
        """See Tables."""
        statement = self._statements["state"].bind((self._place.chain,))
        statement.consistency_level = self._serial
        row = next(iter(self._answer(statement)), None)
        if row is None:
            return None
        found_format, chain, keys, run, blocks, coins, newest, runs = row
        if found_format != FORMAT:
            raise wrong_version(self._place.url, str(found_format), str(FORMAT))
        try:
            return State(chain, keys, run, blocks, coins, view_of(newest, runs))
        except (TypeError, ValueError) as error:
            raise CorruptDatabaseError(self._place.url, f"its row of state: {error}") from error

    def make(self, state: State) -> bool:
        """See Tables."""
        values = (self._place.chain, FORMAT, state.chain, *_changing(state))
        return self._set(self._statements["make"], values, lambda: self.state() == state)

    def change(self, old: State, new: State) -> None:
        """See Tables."""
        values = (*_changing(new), self._place.chain, old.chain, old.run, old.blocks, old.keys)
        if not self._set(self._statements["change"], values, lambda: self.state() == new):
            raise DatabaseLockedError(self._place.url, "another writer has taken it over")

    def check_keeps(self, durability: Durability) -> None:
        """See Tables."""
        if durability is not Durability.POWER:
            return
        advice = "set commitlog_sync: group on every node, or open it with durability 'process'"
        url, keyspace = self._place.url, self._place.keyspace
        hosts = [host for host in self._cluster.metadata.all_hosts() if host.is_up is not False]
        settings = {host.address: self._setting(host, "commitlog_sync") for host in hosts}
        if not any(settings.values()):
            raise StorageError(url, "no node tells its commitlog_sync")
        for address, sync in settings.items():
            if sync not in (*SYNCED, None):
                problem = f"node {address} has commitlog_sync: {sync}, which a power cut defeats"
                raise UnsupportedError(f"{url}: {problem}; {advice}")
        if not self._cluster.metadata.keyspaces[keyspace].durable_writes:
            problem = f"keyspace {keyspace} has durable_writes = false"
            raise UnsupportedError(f"{url}: {problem}; ALTER it, or name another one")

    def close(self) -> None:
        """See Tables."""
        self._is_closed = True
        self._cluster.shutdown()

    @property
    def _serial(self) -> int:
        from cassandra import ConsistencyLevel

        is_local = self._place.consistency.startswith("local")
        serial: int = ConsistencyLevel.LOCAL_SERIAL if is_local else ConsistencyLevel.SERIAL
        return serial

    def _setting(self, host: Any, name: str) -> str | None:
        """A setting of a node; None of one that hangs, which is asked once: others may go on."""
        query = "SELECT value FROM system_views.settings WHERE name = %s"
        try:
            answer = self._session.execute(query, (name,), host=host)
        except _errors() as error:
            if not _may_pass(error):
                raise _told(self._place, error, 0) from error
            return None
        return next((value for (value,) in answer), "unknown")

    def _find_tables(self, *, read_only: bool) -> None:
        """Make the keyspace and the tables that are missing. One writer does so at a time."""
        place = self._place
        there = self._columns_there()
        is_whole = there.keys() >= COLUMNS.keys()
        if any(not there.get(table, some) >= some for table, some in COLUMNS.items()) or (
            there.keys() - COLUMNS.keys() and not is_whole
        ):
            raise WrongDatabaseError(place.url, f"keyspace {place.keyspace} is somebody else's")
        if is_whole:
            # Another client may have just made them. Also nodes that are being upgraded disagree,
            # for hours: then it has to do.
            self._wait_for_tables(place.timeout_seconds)
            return
        if read_only:
            raise DatabaseNotFoundError(place.url, f"keyspace {place.keyspace} has no cdb tables")
        hosts = self._cluster.metadata.all_hosts()
        dc = place.dc or hosts[0].datacenter
        of_dc = sum(host.datacenter == dc for host in hosts)
        copies = place.replication or min(3, of_dc)
        replication = f"{{'class': 'NetworkTopologyStrategy', '{dc}': {copies}}}"
        keyspace = f"CREATE KEYSPACE IF NOT EXISTS {place.keyspace} WITH replication = "
        for statement in (
            keyspace + replication,
            *(f"CREATE TABLE IF NOT EXISTS {place.keyspace}.{each}" for each in TABLES),
        ):
            self._repeated(lambda each=statement: self._session.execute(each))  # type: ignore[misc]
        if not self._wait_for_tables(place.patience_seconds):
            raise StorageError(place.url, "the nodes do not agree on the tables; see their logs")

    def _wait_for_tables(self, seconds: float) -> bool:
        """Have the driver know the tables, and all nodes that are up; False where some do not."""
        keyspace, cluster = self._place.keyspace, self._cluster
        agree = cluster.control_connection.wait_for_schema_agreement
        is_known = bool(self._repeated(lambda: agree(wait_time=seconds)))
        if keyspace not in cluster.metadata.keyspaces:
            self._repeated(lambda: cluster.refresh_keyspace_metadata(keyspace))
        return is_known

    def _columns_there(self) -> Mapping[str, set[str]]:
        """The columns of each table in the keyspace."""
        query = "SELECT table_name, column_name FROM system_schema.columns WHERE keyspace_name = %s"
        asked = (self._place.keyspace,)
        there: dict[str, set[str]] = defaultdict(set)
        for table, column in self._repeated(lambda: self._session.execute(query, asked)):
            there[table].add(column)
        return there

    def _prepared(self) -> dict["str | Table", Any]:
        keyspace = self._place.keyspace
        texts: dict[str | Table, str] = {
            "coins": f"SELECT key, run, born, spent FROM {keyspace}.coin WHERE key IN ?",
            "heads": f"SELECT number, run, head FROM {keyspace}.head WHERE key = ?",
            "parts": f"SELECT data FROM {keyspace}.part WHERE key = ? AND part >= ? AND part < ?",
            "keyed": f"SELECT confirmed, name FROM {keyspace}.keyed WHERE key = ?"
            f" AND (confirmed, name) > (?, ?) AND (confirmed) <= (?) LIMIT {PAGE_NAMES}",
            "state": f"SELECT {_STATE} FROM {keyspace}.state WHERE name = ?",
            "make": f"INSERT INTO {keyspace}.state (name, {_STATE})"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) IF NOT EXISTS",
            "change": f"UPDATE {keyspace}.state SET keys = ?, run = ?, blocks = ?, coins = ?,"
            " newest = ?, runs = ? WHERE name = ?"
            " IF chain = ? AND run = ? AND blocks = ? AND keys = ?",
        }
        for table in Table:
            name, columns = table.value
            values = ", ".join("?" * len(columns))
            # A time that never changes: of rows that never change it tells nothing, and costs.
            texts[table] = (
                f"INSERT INTO {keyspace}.{name} ({', '.join(columns)}) VALUES ({values})"
                " USING TIMESTAMP 1"
            )
        statements = {}
        for key, text in texts.items():
            prepared = self._repeated(lambda text=text: self._session.prepare(text))  # type: ignore[misc]
            # Also a change, asked of two nodes at once: the state that it wants never comes again,
            # so one of them is made; of the other one, which is refused, _set() reads the state.
            prepared.is_idempotent = True
            statements[key] = prepared
        return statements

    def _together(self, keys: Iterable[bytes]) -> Iterator[list[bytes]]:
        """Keys of the same nodes, as many as one statement takes."""
        groups: dict[object, list[bytes]] = defaultdict(list)
        nodes_of = self._nodes_of()
        for key in keys:
            group = groups[nodes_of(key)]
            group.append(key)
            if len(group) == IN_KEYS:
                yield group[:]
                group.clear()
        yield from filter(None, groups.values())

    def _nodes_of(self) -> Callable[[bytes], object]:
        """Which nodes have a row: a statement about rows of the same ones is asked of one of them.
        Where each node has all rows that is any."""
        metadata, keyspace = self._cluster.metadata, self._place.keyspace
        copies = self._copies()
        if copies is not None and len(metadata.all_hosts()) <= copies:
            return lambda key: None
        return lambda key: frozenset(host.host_id for host in metadata.get_replicas(keyspace, key))

    def _check_dc(self) -> None:
        """Raise UnsupportedError where no node is in the URL's data centre."""
        url, dc = self._place.url, self._place.dc
        there = {host.datacenter for host in self._cluster.metadata.all_hosts()}
        if dc and dc not in there:
            known = ", ".join(sorted(map(str, there)))
            raise UnsupportedError(f"{url}: no node is in data centre {dc}; there are {known}")

    def _copies(self) -> int | None:
        """Of each row, in the data centre that has the fewest; None where nobody tells."""
        strategy = self._cluster.metadata.keyspaces[self._place.keyspace].replication_strategy
        copies: int | None = getattr(strategy, "replication_factor", None)
        by_dc = getattr(strategy, "dc_replication_factors", None)
        if copies is None and by_dc is not None:
            copies = min(by_dc.values(), default=0)
        return copies

    def _check_copies(self) -> None:
        """Raise UnsupportedError where the keyspace keeps other copies than the URL says."""
        place, copies = self._place, self._copies()
        if place.replication not in (0, copies):
            problem = f"keyspace {place.keyspace} keeps {copies} copies, not {place.replication}"
            advice = "ALTER it, or leave out the option replication"
            raise UnsupportedError(f"{place.url}: {problem}; {advice}")

    def _batches(self, rows: Mapping[Table, Sequence[Row]]) -> Iterator[Any]:
        nodes_of = self._nodes_of()
        for table, some in rows.items():
            statement = self._statements[table]
            groups: dict[object, list[Row]] = defaultdict(list)
            sizes: dict[object, int] = defaultdict(int)
            for row in some:
                nodes = nodes_of(row[0])  # type: ignore[arg-type]
                size = sum(len(each) for each in row if isinstance(each, bytes))
                group = groups[nodes]
                if len(group) == BATCH_ROWS or (group and sizes[nodes] + size > BATCH_BYTES):
                    yield self._batch(statement, groups.pop(nodes))
                    del sizes[nodes]
                groups[nodes].append(row)
                sizes[nodes] += size
            for group in groups.values():
                yield self._batch(statement, group)

    def _batch(self, statement: Any, rows: Sequence[Row]) -> Any:
        from cassandra.query import BatchStatement, BatchType

        batch = BatchStatement(BatchType.UNLOGGED)
        for row in rows:
            batch.add(statement, row)
        batch.is_idempotent = True
        return batch

    def _answers(self, statements: Iterable[Any]) -> Iterator[Any]:
        """What they give, in their order; some are in flight."""
        waiting: deque[tuple[Any, Any]] = deque()
        for statement in statements:
            waiting.append((statement, self._sent(statement)))
            if len(waiting) == IN_FLIGHT:
                yield self._received(*waiting.popleft())
        while waiting:
            yield self._received(*waiting.popleft())

    def _answer(self, statement: Any) -> Any:
        return self._received(statement, self._sent(statement))

    def _sent(self, statement: Any) -> Any:
        self._check_open()
        return self._session.execute_async(statement)

    def _received(self, statement: Any, future: Any) -> Any:
        first = [future]

        def ask() -> Any:
            return (first.pop() if first else self._sent(statement)).result()

        return self._repeated(ask)

    def _set(self, statement: Any, values: Sequence[Any], is_done: Callable[[], bool]) -> bool:
        """Whether a compare-and-set was done. Where that is unknown, or it is done already, the
        state tells; and where it has not been done, it is tried again."""
        for pause in self._pauses():
            bound = statement.bind(values)
            try:
                answer = self._sent(bound).result()
                return bool(answer.was_applied) or is_done()
            except _errors() as error:
                if is_done():
                    return True
                pause(error)
        raise AssertionError

    def _repeated(self, ask: Callable[[], Any]) -> Any:
        """What ask() gives, which is called again while the cluster does not answer."""
        for pause in self._pauses():
            try:
                return ask()
            except _errors() as error:
                pause(error)
        raise AssertionError

    def _pauses(self) -> Iterator[Callable[[Exception], None]]:
        """For each try what waits after an error, or raises what is to be told."""
        begun, seconds = time.monotonic(), FIRST_PAUSE_SECONDS

        def pause(error: Exception) -> None:
            self._check_open()
            waited = time.monotonic() - begun
            if not _may_pass(error) or waited + seconds > self._place.patience_seconds:
                raise _told(self._place, error, waited) from error
            time.sleep(seconds)

        while True:
            yield pause
            seconds = min(2 * seconds, LONGEST_PAUSE_SECONDS)

    def _check_open(self) -> None:
        if self._is_closed:
            raise DatabaseClosedError(self._place.url, "it is closed; open it again")


def _changing(state: State) -> tuple[Any, ...]:
    view = state.view
    counts = state.run, state.blocks, state.coins
    return (state.keys, *counts, view.newest, view.packed_runs())


def cluster_of(place: Place) -> Any:
    """The driver's connection to a cluster, not yet opened."""
    from cassandra import ConsistencyLevel
    from cassandra.auth import PlainTextAuthProvider
    from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
    from cassandra.policies import (
        ConstantReconnectionPolicy,
        ConstantSpeculativeExecutionPolicy,
        DCAwareRoundRobinPolicy,
        TokenAwarePolicy,
    )
    from cassandra.query import tuple_factory

    is_local = place.consistency.startswith("local")
    # Where far nodes count in a quorum, they are asked what they promise; else never, or it would
    # be a quorum of theirs.
    near = DCAwareRoundRobinPolicy(place.dc, 0 if is_local else FAR_NODES)
    profile = ExecutionProfile(
        load_balancing_policy=TokenAwarePolicy(near),
        consistency_level=getattr(ConsistencyLevel, place.consistency.upper()),
        serial_consistency_level=(
            ConsistencyLevel.LOCAL_SERIAL if is_local else ConsistencyLevel.SERIAL
        ),
        request_timeout=place.timeout_seconds,
        row_factory=tuple_factory,
        speculative_execution_policy=ConstantSpeculativeExecutionPolicy(ELSEWHERE_SECONDS, 1),
    )
    user = PlainTextAuthProvider(place.user, place.password) if place.user else None
    return Cluster(
        [*place.hosts],
        port=place.hosts[0][1],
        auth_provider=user,
        ssl_context=_tls(place),
        execution_profiles={EXEC_PROFILE_DEFAULT: profile},
        reconnection_policy=ConstantReconnectionPolicy(0.5, max_attempts=None),
        connect_timeout=place.timeout_seconds,
        control_connection_timeout=place.timeout_seconds,
        idle_heartbeat_interval=HEARTBEAT_SECONDS,
        idle_heartbeat_timeout=HEARTBEAT_SECONDS,
        # Of one that hangs each statement would wait for it; a node that lacks one says so.
        prepare_on_all_hosts=False,
        # A request above a few KB waits 40 ms otherwise, for what never comes.
        sockopts=[(IPPROTO_TCP, TCP_NODELAY, 1)],
    )


def _connected(place: Place) -> tuple[Any, Any]:
    """A cluster and a session: a new cluster for each try, as the driver ends one that fails."""
    cluster = cluster_of(place)
    try:
        return cluster, cluster.connect()
    except BaseException:
        cluster.shutdown()
        raise


def _tls(place: Place) -> ssl.SSLContext | None:
    if not place.tls:
        return None
    try:
        context = ssl.create_default_context(cafile=place.tls)
        if place.cert:
            # Of an encrypted key OpenSSL would ask the terminal.
            context.load_cert_chain(place.cert, place.cert_key or None, password="")
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(filter(None, (place.tls, place.cert, place.cert_key)))
        reason = getattr(error, "strerror", "") or getattr(error, "reason", "") or error
        raise UnsupportedError(f"{place.url}: TLS by {files}: {reason}") from error
    return context


def _errors() -> tuple[type[Exception], ...]:
    """What the driver raises where the cluster does not do what it is asked."""
    from cassandra import DriverException
    from cassandra.cluster import NoHostAvailable
    from cassandra.connection import ConnectionException
    from cassandra.protocol import ErrorMessage

    return (DriverException, NoHostAvailable, ConnectionException, ErrorMessage, OSError)


def _may_pass(error: Exception) -> bool:
    """Whether the same may succeed later."""
    from cassandra import (
        AuthenticationFailed,
        RequestValidationException,
        UnresolvableContactPoints,
        UnsupportedOperation,
        protocol,
    )
    from cassandra.cluster import NoHostAvailable

    final = (
        *(AuthenticationFailed, RequestValidationException, UnsupportedOperation),
        *(UnresolvableContactPoints, protocol.RequestValidationException),
    )
    errors: list[object] = [error]
    if isinstance(error, NoHostAvailable) and isinstance(error.errors, dict):
        errors += error.errors.values()
    return not any(isinstance(each, final) or "[SSL: " in str(each) for each in errors)


def _told(place: Place, error: Exception, waited: float) -> StorageError | UnsupportedError:
    """What a user is told of what the driver has raised: one line, and no password."""
    from cassandra import OperationTimedOut, Unavailable, UnresolvableContactPoints
    from cassandra.cluster import NoHostAvailable

    place_of_error, inner = "", error
    if isinstance(error, NoHostAvailable | OperationTimedOut) and isinstance(error.errors, dict):
        host, inner = next(iter(error.errors.items()), ("", error))
        place_of_error = f"{host}: " if host else ""
    # The driver's own words end with those of the system.
    reason = " ".join(str(inner).rpartition("Last error: ")[2].split()) or type(inner).__name__
    if isinstance(error, UnresolvableContactPoints):
        return StorageError(place.url, "none of these hosts has an address")
    if not _may_pass(error):
        return StorageError(place.url, f"the cluster refuses: {reason}")
    for_long = f"for {waited:.0f} s" if waited >= 1 else "at once"
    if isinstance(inner, Unavailable):
        alive = f"{inner.alive_replicas} of {inner.required_replicas} nodes that are needed are up"
        return StorageError(place.url, f"{alive} {for_long}; start the others")
    # Of a data centre that there is not the driver knows no node to ask.
    question = f"is it up, and is {place.dc} its data centre?" if place.dc else "is it up?"
    told = f"the cluster does not answer {for_long} ({place_of_error}{reason}); {question}"
    return StorageError(place.url, told)
