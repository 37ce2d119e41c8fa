"""A name index that is one SQLite B-tree: ``coin_lookup(hash BLOB PRIMARY KEY, id INTEGER)``.

It has no row ids of its own, which would make it two B-trees: one by row id, one by hash.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from pathlib import Path

from cdb.contract.coins import NAME_BYTES
from cdb.contract.durability import Durability
from cdb.disk.files import make_dir
from cdb.errors import CorruptDatabaseError
from cdb.stores.rows.index import Watermark
from cdb.stores.rows.snapshot import Snapshot
from cdb.stores.rows.sqlite import (
    EACH,
    connect,
    create_tables,
    integrity_problems,
    parts,
    sqlite_errors,
    stored_data,
)

_TABLES = {"coin_lookup": "hash", "covered": None}
_CREATE = (
    "CREATE TABLE IF NOT EXISTS coin_lookup(hash BLOB PRIMARY KEY, id INTEGER) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS covered(rows INTEGER NOT NULL, last_name BLOB NOT NULL)",
    "INSERT INTO covered SELECT 0, x'' WHERE NOT EXISTS (SELECT 1 FROM covered)",
)
_FIND = f"""{EACH} SELECT n, id FROM each
    CROSS JOIN coin_lookup ON hash = substr(?2, 32 * n + 1, 32)"""
# SQLite sorts the names first: inserts in order change each page but once.
_INSERT = f"""{EACH} INSERT INTO coin_lookup
    SELECT substr(?2, 32 * n + 1, 32), ?3 + n FROM each ORDER BY 1"""
_BATCH_NAMES = 50_000


class SqliteLookup:
    """See NameIndex. The watermark changes in the transaction that changes the names."""

    def __init__(self, path: Path, *, durability: Durability, read_only: bool) -> None:
        self._path = path / "lookup.sqlite"
        self._snapshot = Snapshot(self._path, _TABLES) if read_only else None
        if self._snapshot:
            self._connection = self._snapshot.connection
            self._reading: Callable[[], AbstractContextManager[None]] = self._snapshot.reading
        else:
            make_dir(path, durable=durability is Durability.POWER)
            # At PROCESS, too: a rewind that a power cut takes from it may have reached the rows.
            level = Durability.NONE if durability is Durability.NONE else Durability.POWER
            self._connection = connect(self._path, level, _TABLES)
            self._reading = partial(stored_data, self._path)
        try:
            with self._reading():
                if not read_only:
                    create_tables(self._connection, _CREATE)
                found = self._connection.execute("SELECT rows, last_name FROM covered").fetchone()
                self._covered = _watermark(*found)
        except BaseException:
            self._connection.close()
            raise

    @property
    def covered(self) -> Watermark:
        """See NameIndex."""
        return self._covered

    @property
    def is_settled(self) -> bool:
        """See KnowsIfSettled: a B-tree owes nothing."""
        return True

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """See NameIndex."""
        rows: list[int | None] = [None] * len(names)
        with self._reading():
            for start, *part in parts(b"".join(names), NAME_BYTES):
                for place, row in self._connection.execute(_FIND, part):
                    rows[start + place] = row
        return rows

    def write(self, names: Sequence[bytes], covered: Watermark) -> None:
        """See NameIndex."""
        with sqlite_errors(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            for start, *part in parts(b"".join(names), NAME_BYTES):
                self._connection.execute(_INSERT, (*part, self._covered.rows + 1 + start))
            self._commit(covered)

    def rewind(self, covered: Watermark, dropped: Iterator[bytes]) -> None:
        """See NameIndex."""
        with sqlite_errors(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            while names := sorted(islice(dropped, _BATCH_NAMES)):
                parameters = [(name,) for name in names]
                self._connection.executemany("DELETE FROM coin_lookup WHERE hash = ?", parameters)
            self._commit(covered)

    def settle(self) -> None:
        """See NameIndex. Nothing: a B-tree owes no compaction."""

    def check(self) -> None:
        """See NameIndex."""
        with self._reading():
            problems = integrity_problems(self._connection)
            (count,) = self._connection.execute("SELECT count(*) FROM coin_lookup").fetchone()
        if problems:
            raise CorruptDatabaseError(self._path, problems[0])
        if count != self._covered.rows:
            problem = f"it holds {count} names, and says that it covers {self._covered.rows} rows"
            raise CorruptDatabaseError(self._path, problem)

    def close(self) -> None:
        """See NameIndex."""
        with sqlite_errors(self._path):
            self._connection.close()

    def _commit(self, covered: Watermark) -> None:
        self._connection.execute("UPDATE covered SET rows = ?, last_name = ?", covered)
        self._connection.execute("COMMIT")
        self._covered = covered


def _watermark(rows: object, last_name: object) -> Watermark:
    if not isinstance(rows, int) or not isinstance(last_name, bytes):
        raise TypeError("the watermark has values of other types")
    return Watermark(rows, last_name)
