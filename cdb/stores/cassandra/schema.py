"""A chain in Cassandra as a schema: how it is opened, and who may write it."""

import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from cdb.contract.durability import Durability
from cdb.contract.progress import Progress
from cdb.contract.secondary_keys import extra_for
from cdb.errors import DatabaseLockedError, DatabaseNotFoundError
from cdb.front.history import ViewHistory
from cdb.front.offers import Keyed, Telling
from cdb.stores.cassandra.backend import Chain
from cdb.stores.cassandra.cql import CqlTables
from cdb.stores.cassandra.place import place_of
from cdb.stores.cassandra.state import State
from cdb.stores.cassandra.tables import Tables

CHAIN_BYTES = 8


class CassandraSchema(ViewHistory, Telling):
    """A chain in a cluster; see cdb.schemas.Schema for the methods. States come by creation."""

    _backend: Chain


class IndexedCassandraSchema(CassandraSchema, Keyed):
    """The same with secondary keys: once made, they stay, and every writer keeps them."""

    _backend: Chain


def cassandra(
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    index: str = "",
    progress: Progress | None = None,
) -> CassandraSchema:
    """Open a chain, or make one. path: a URL, as cdb.stores.cassandra.place has them.

    index: "puzzle_hash" makes secondary keys, of the blocks that are there, too; progress is told
    of their coins. Read_only it shows the moment of its opening, whatever is written.

    A writer takes over from one on another machine, whose next write then fails; on the same
    machine it is a DatabaseLockedError as long as that one lives, unless the URL says takeover=yes.
    Raises UnsupportedError, StorageError or another DatabaseError.
    """
    place = place_of(fspath(path))
    keys = index if extra_for("cassandra", index) else ""
    with ExitStack() as undo:
        tables = CqlTables(place, read_only=read_only)
        undo.callback(tables.close)
        if not read_only:
            tables.check_keeps(durability)
        lock = None if read_only else Lock(takes_over=place.takeover)
        if lock is not None:
            undo.callback(lock.release)
        store = opened(place.url, tables, lock, read_only=read_only, keys=keys, progress=progress)
        undo.pop_all()
        return store


class Lock:
    """Held by the one writer of this machine. It is a socket's name, which ends with its process;
    where the system has no such names nothing is held, and a writer takes over at once.

    takes_over: it is taken where nobody has it, and else done without.
    """

    def __init__(self, *, takes_over: bool = False) -> None:
        self._takes_over = takes_over
        self._socket = socket.socket(socket.AF_UNIX) if sys.platform == "linux" else None

    def take(self, url: str, chain: bytes) -> None:
        """Raise DatabaseLockedError where another one has it."""
        if self._socket is not None:
            try:
                self._socket.bind(f"\0cdb-cassandra-{chain.hex()}")
            except OSError as error:
                if self._takes_over:
                    return
                problem = "another process, or another object of this one, writes it"
                raise DatabaseLockedError(url, problem) from error

    def release(self) -> None:
        """Let the next one in."""
        if self._socket is not None:
            self._socket.close()


def opened(
    url: str,
    tables: Tables,
    lock: Lock | None = None,
    *,
    read_only: bool = False,
    keys: str = "",
    progress: Progress | None = None,
) -> CassandraSchema:
    """The schema over tables. Raises what cassandra() raises."""
    state = tables.state()
    if state is None and read_only:
        raise DatabaseNotFoundError(url, "there is no such chain")
    while state is None:
        made = State(secrets.token_bytes(CHAIN_BYTES))
        state = made if tables.make(made) else tables.state()
    if not read_only:
        if lock is not None:
            lock.take(url, state.chain)
            # Who had it may have written meanwhile.
            state = tables.state() or state
        old, state = state, state.taken_over()
        tables.change(old, state)
    backend = Chain(url, tables, state)
    if keys and not state.keys and not read_only:
        backend.add_keys(progress or _told_nobody)
    kind = IndexedCassandraSchema if backend.has_keys else CassandraSchema
    release: Callable[[], Any] = _nothing if lock is None else lock.release
    return kind(url, backend, release, read_only=read_only)


def _told_nobody(done: int) -> None:
    pass


def _nothing() -> None:
    pass


if TYPE_CHECKING:
    from cdb.contract.schema import (
        AcceptsPacked,
        HistoryPacked,
        HistorySchema,
        IndexedSchema,
        ReadsPacked,
        TellsFacts,
    )

    _accepts: type[AcceptsPacked] = CassandraSchema
    _reads: type[ReadsPacked] = CassandraSchema
    _keeps_history: type[HistorySchema] = CassandraSchema
    _packs_history: type[HistoryPacked] = CassandraSchema
    _tells: type[TellsFacts] = CassandraSchema
    _finds: type[IndexedSchema] = IndexedCassandraSchema
