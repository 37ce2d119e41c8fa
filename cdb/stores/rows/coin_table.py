"""How coins are laid out in an SQLite table that numbers its rows, and what is kept about parents.

Hardly any new coin has to be looked for among the old ones: one that is confirmed without its
parent's spend is an early child; see KnownCoins for what follows. A reward's parent is a number
behind 16 bytes of the network's: it is no coin's name, so it is never spent, and the numbers count
up, so one above all that came before has no child yet. Nothing of this is undone by a rewind: what
is kept in vain only costs lookups. native/rules/parents.h has the same rules for other stores.
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Protocol

from cdb.contract.coins import NAME_BYTES, REWARD_PREFIX_BYTES, is_reward
from cdb.contract.packed import CONFIRM_BYTES
from cdb.stores.rows.batch import Batch
from cdb.stores.rows.index import ROOT, Branch
from cdb.stores.rows.sqlite import EACH, Tables, parts, select_in
from cdb.stores.rows.stored import create_block_table

_TABLES: Tables = {
    "coin": "id",
    "spend": "id",
    "block": "block_index",
    "irregular_parent": "name",
    "newest_reward": "prefix",
    "branch": None,
}


_BRANCH_ID_BYTES = 16
# A network has two prefixes. With as many as this, others may have been left out.
_MOST_PREFIXES = 8
_HIGHEST = b"\xff" * NAME_BYTES


class CoinTable(Protocol):
    """One layout of the coin table. What changes it comes within a transaction."""

    table: str
    block_table: str
    tables: Tables
    """All that it uses."""
    create: tuple[str, ...]
    """CREATE … IF NOT EXISTS statements, the block table's among them."""
    columns: str
    """SQL for the fields of StoredCoin."""

    def append(self, connection: sqlite3.Connection, batch: Batch) -> None:
        """Add the batch's coins, and mark those that it spends."""
        ...

    def unspend(self, connection: sqlite3.Connection, rows: Sequence[int]) -> None:
        """Mark the coins of these rows as unspent."""
        ...

    def drop_above(self, connection: sqlite3.Connection, row: int) -> None:
        """Drop the coins of all rows above this one."""
        ...

    def begin_branch(self, connection: sqlite3.Connection, above: int) -> None:
        """Note that what comes above this row is of a branch of its own, where that is kept."""
        ...

    def branches(self, connection: sqlite3.Connection) -> Iterator[Branch]:
        """See Numbered."""
        ...

    def spent(self, connection: sqlite3.Connection, rows: Sequence[int]) -> list[tuple[int, int]]:
        """Those of the rows whose coins are spent, each with its spent index."""
        ...

    def may_have_child(
        self, connection: sqlite3.Connection, parents: Sequence[bytes]
    ) -> set[bytes]:
        """Those of the parents that may have a child."""
        ...

    def may_have_early_child(
        self, connection: sqlite3.Connection, names: Sequence[bytes]
    ) -> set[bytes]:
        """Those of the names that may be the parent of an early child."""
        ...


class CompactTable:
    """The layout of cdb's own schemas: a coin's row never changes, spends are rows of their own.

    An old coin's page is far larger than its share of the spends', so this way a spend changes
    fewer pages.
    """

    table = "coin"
    block_table = "block"
    tables = _TABLES
    create: tuple[str, ...] = (
        """CREATE TABLE IF NOT EXISTS coin(
            id INTEGER PRIMARY KEY,
            parent BLOB NOT NULL,
            puzzle_hash BLOB NOT NULL,
            amount BLOB NOT NULL,
            confirmed_index INTEGER NOT NULL)""",
        """CREATE TABLE IF NOT EXISTS spend(
            id INTEGER PRIMARY KEY,
            spent_index INTEGER NOT NULL)""",
        "CREATE TABLE IF NOT EXISTS irregular_parent(name BLOB PRIMARY KEY) WITHOUT ROWID",
        "CREATE TABLE IF NOT EXISTS newest_reward(prefix BLOB PRIMARY KEY, parent BLOB NOT NULL)",
        "CREATE TABLE IF NOT EXISTS branch(id BLOB NOT NULL, above INTEGER NOT NULL)",
        create_block_table("block"),
    )
    columns = (
        "id, parent, puzzle_hash, amount, confirmed_index,"
        " ifnull((SELECT spent_index FROM spend WHERE spend.id = coin.id), 0)"
    )
    _insert = f"""{EACH} INSERT INTO coin
        SELECT ?2 + n, substr(?3, 72 * n + 1, 32), substr(?3, 72 * n + 33, 32),
               substr(?3, 72 * n + 65, 8), ?4
        FROM each"""

    def append(self, connection: sqlite3.Connection, batch: Batch) -> None:
        """See CoinTable."""
        coins = (
            (n_coins, block.first_row + start, coins, block.block_index)
            for block in batch.confirms()
            for start, n_coins, coins in parts(block.packed, CONFIRM_BYTES)
        )
        connection.executemany(self._insert, coins)
        connection.executemany("INSERT INTO spend VALUES (?, ?)", batch.spends())
        _keep_early(connection, batch.early_parents)

    def unspend(self, connection: sqlite3.Connection, rows: Sequence[int]) -> None:
        """See CoinTable."""
        connection.executemany("DELETE FROM spend WHERE id = ?", [(row,) for row in rows])

    def drop_above(self, connection: sqlite3.Connection, row: int) -> None:
        """See CoinTable."""
        connection.execute("DELETE FROM coin WHERE id > ?", (row,))
        connection.execute("DELETE FROM spend WHERE id > ?", (row,))

    def begin_branch(self, connection: sqlite3.Connection, above: int) -> None:
        """See CoinTable."""
        drawn = os.urandom(_BRANCH_ID_BYTES)
        connection.execute("INSERT INTO branch VALUES (?, ?)", (drawn, above))

    def branches(self, connection: sqlite3.Connection) -> Iterator[Branch]:
        """See CoinTable."""
        query = "SELECT id, above FROM branch ORDER BY rowid DESC"
        with closing(connection.execute(query)) as rows:
            for drawn, above in rows:
                if not isinstance(drawn, bytes) or len(drawn) != _BRANCH_ID_BYTES:
                    raise TypeError("a branch has no id")
                yield Branch(drawn, int(above))
        yield ROOT

    def spent(self, connection: sqlite3.Connection, rows: Sequence[int]) -> list[tuple[int, int]]:
        """See CoinTable."""
        return [*select_in(connection, "SELECT id, spent_index FROM spend WHERE id", rows)]

    def may_have_child(
        self, connection: sqlite3.Connection, parents: Sequence[bytes]
    ) -> set[bytes]:
        """See CoinTable."""
        newest = dict(connection.execute("SELECT prefix, parent FROM newest_reward"))
        unknown = b"" if len(newest) < _MOST_PREFIXES else _HIGHEST
        return {
            parent
            for parent in parents
            if not is_reward(parent) or parent <= newest.get(parent[:REWARD_PREFIX_BYTES], unknown)
        }

    def may_have_early_child(
        self, connection: sqlite3.Connection, names: Sequence[bytes]
    ) -> set[bytes]:
        """See CoinTable."""
        if connection.execute("SELECT 1 FROM irregular_parent LIMIT 1").fetchone() is None:
            return set()
        select = "SELECT name FROM irregular_parent WHERE name"
        return {name for (name,) in select_in(connection, select, names)}


def _keep_early(connection: sqlite3.Connection, parents: Sequence[bytes]) -> None:
    """Keep the parents of early children; of rewards the newest one of each prefix."""
    others = [(parent,) for parent in parents if not is_reward(parent)]
    connection.executemany("INSERT OR IGNORE INTO irregular_parent VALUES (?)", others)
    known = {prefix for (prefix,) in connection.execute("SELECT prefix FROM newest_reward")}
    newest: dict[bytes, bytes] = {}
    for parent in filter(is_reward, parents):
        prefix = parent[:REWARD_PREFIX_BYTES]
        if prefix in known or len(known) < _MOST_PREFIXES:
            known.add(prefix)
            newest[prefix] = max(parent, newest.get(prefix, b""))
    connection.executemany(
        "INSERT INTO newest_reward VALUES (?, ?)"
        " ON CONFLICT(prefix) DO UPDATE SET parent = max(parent, excluded.parent)",
        newest.items(),
    )
