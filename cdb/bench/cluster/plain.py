"""What one would write first: prepared statements, one a row, 32 in flight, one block a commit.

It checks the same rules, by a look-up of each name, and neither takes two writers nor survives a
kill in the middle of a block.
"""

from collections.abc import Iterable, Sequence
from struct import iter_unpack
from typing import Any

from cdb.contract.packed import CONFIRM_FORMAT, PackedBlocks
from cdb.stores.cassandra.cql import cluster_of
from cdb.stores.cassandra.place import Place

KEYSPACE = "cdb_plain"
IN_FLIGHT = 32
_TABLES = (
    "coin (name blob PRIMARY KEY, parent blob, puzzle_hash blob, amount varint, confirmed bigint,"
    " spent bigint)",
    "block (height bigint PRIMARY KEY, timestamp bigint, spends blob, confirms blob, names blob)",
    "peak (id int PRIMARY KEY, height bigint)",
)
_STATEMENTS = {
    "confirm": "INSERT INTO coin (name, parent, puzzle_hash, amount, confirmed, spent)"
    " VALUES (?, ?, ?, ?, ?, 0)",
    "spend": "UPDATE coin SET spent = ? WHERE name = ?",
    "forget": "DELETE FROM coin WHERE name = ?",
    "find": "SELECT parent, puzzle_hash, amount, confirmed, spent FROM coin WHERE name = ?",
    "block": "INSERT INTO block (height, timestamp, spends, confirms, names)"
    " VALUES (?, ?, ?, ?, ?)",
    "read": "SELECT spends, names FROM block WHERE height = ?",
    "drop": "DELETE FROM block WHERE height = ?",
    "peak": "INSERT INTO peak (id, height) VALUES (0, ?)",
}


class PlainClient:
    """Keeps coins by name, and blocks by height. copies: of each row."""

    def __init__(self, place: Place, copies: int) -> None:
        self._cluster = cluster_of(place)
        self._session = session = self._cluster.connect()
        replication = f"{{'class': 'SimpleStrategy', 'replication_factor': {copies}}}"
        session.execute(f"DROP KEYSPACE IF EXISTS {KEYSPACE}")
        session.execute(f"CREATE KEYSPACE {KEYSPACE} WITH replication = {replication}")
        session.set_keyspace(KEYSPACE)
        for table in _TABLES:
            session.execute(f"CREATE TABLE {table}")
        self._prepared = {name: session.prepare(text) for name, text in _STATEMENTS.items()}

    def accept(self, block: PackedBlocks) -> None:
        """Add a pack of one block. Raises ValueError where it breaks a rule."""
        (height,), (timestamp,) = block.indices, block.timestamps
        names, spends = _names(block.names), _names(block.spends)
        own = {*names}
        outside = [name for name in spends if name not in own]
        found = self.find([*outside, *names])
        if any(not rows or rows[0][4] for rows in found[: len(outside)]):
            raise ValueError(f"block {height} spends what is not there, or spent")
        if any(found[len(outside) :]):
            raise ValueError(f"block {height} confirms what is there")
        coins = zip(names, iter_unpack(CONFIRM_FORMAT, block.confirms), strict=True)
        self._all("confirm", ((name, *coin, height) for name, coin in coins))
        self._all("spend", ((height, name) for name in spends))
        packed = map(bytes, (block.spends, block.confirms, block.names))
        self._all("block", [(height, timestamp, *packed)])
        self._all("peak", [(height,)])

    def find(self, names: Sequence[bytes]) -> list[list[Any]]:
        """The rows of each name: one, or none."""
        return self._all("find", ((name,) for name in names))

    def rewind(self, heights: Iterable[int], to_height: int) -> None:
        """Take blocks back, from the newest on."""
        for height in heights:
            ((spends, names),) = self._all("read", [(height,)])[0]
            self._all("spend", ((0, name) for name in _names(spends)))
            self._all("forget", ((name,) for name in _names(names)))
            self._all("drop", [(height,)])
        self._all("peak", [(to_height,)])

    def close(self) -> None:
        """Let go of the cluster."""
        self._cluster.shutdown()

    def _all(self, statement: str, arguments: Iterable[Sequence[Any]]) -> list[list[Any]]:
        from cassandra.concurrent import execute_concurrent_with_args

        prepared = self._prepared[statement]
        done = execute_concurrent_with_args(
            self._session, prepared, arguments, concurrency=IN_FLIGHT
        )
        return [list(answer) for _, answer in done]


def _names(packed: bytes | bytearray | memoryview) -> list[bytes]:
    return [name for (name,) in iter_unpack("32s", packed)]
