"""What a cluster is asked. cql.py asks Cassandra; tests ask a dictionary."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from cdb.contract.durability import Durability
from cdb.stores.cassandra.rows import Row, Table
from cdb.stores.cassandra.state import State

CoinRow = tuple[bytes, int, bytes | None, bytes | None]
"""key, run, born, spent: see cdb.stores.cassandra.rows."""


class Tables(Protocol):
    """The rows of a keyspace, and the state of one chain in it. Any thread may call.

    Where the cluster does not answer, calls are repeated for as long as the place's patience says.
    Raises StorageError then, and DatabaseClosedError after close().
    """

    def write(self, rows: Mapping[Table, Sequence[Row]], /) -> None:
        """Write rows. When it returns, a quorum has each; when it raises, some may be there."""
        ...

    def coins(self, keys: Sequence[bytes], /) -> Iterator[CoinRow]:
        """All rows of these coins."""
        ...

    def heads(self, key: bytes, /) -> Sequence[tuple[int, int, bytes]]:
        """number, run and head of all blocks with this key."""
        ...

    def parts(self, keys: Sequence[tuple[bytes, int]], /) -> Iterator[list[bytes]]:
        """For each key, with how many parts it has, the parts that are there, in order."""
        ...

    def keyed(self, keys: Iterable[bytes], first: int, last: int, /) -> Iterator[bytes]:
        """The names with these keys, confirmed at first … last; in no order, and some twice."""
        ...

    def state(self) -> State | None:
        """The state, with all changes that anybody knows of; None where there is no such chain."""
        ...

    def make(self, state: State, /) -> bool:
        """Begin a chain. False where there is one."""
        ...

    def change(self, old: State, new: State, /) -> None:
        """Replace a state, unless it is the new one already: a repeated try may be told so.

        Raises DatabaseLockedError where it is another one: a writer took over.
        """
        ...

    def check_keeps(self, durability: Durability, /) -> None:
        """Raise UnsupportedError where the cluster promises less."""
        ...

    def close(self) -> None:
        """Let go of the cluster."""
        ...
