"""Coins of the node's table by its own indexes: packed queries, in SQL."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from struct import pack
from typing import Any

from cdb.contract.coin_query import COIN_FORMAT, MAX_INDEX, CoinKey, CoinQuery
from cdb.contract.coins import NAME_BYTES
from cdb.contract.packed import AMOUNT_BYTES
from cdb.errors import CorruptDatabaseError
from cdb.stores.node_table.table import COIN_COLUMNS, COIN_TABLE
from cdb.stores.rows.backend import NamedRows
from cdb.stores.rows.sqlite import EACH, from_signed, parts
from cdb.stores.rows.stored import StoredCoin

_KEYS = {
    CoinKey.NAME: "coin_name",
    CoinKey.PUZZLE_HASH: "puzzle_hash",
    CoinKey.PARENT: "coin_parent",
}
_INDEXED = {"confirmed_index", "spent_index", "puzzle_hash", "coin_parent"}
_NO_LIMIT = -1
_MOST_LIMIT = 2**63 - 1

_Found = tuple[int, bytes, bytes]
"""The index by which a coin is ordered, its name, and the coin as COIN_FORMAT has it."""


class KeyedRows(NamedRows):
    """The rows of the node's table, with all of the node's indexes."""

    def ask(self, query: CoinQuery) -> bytes:
        """See KeyedBackend."""
        with self.rows.read.reading():
            return coins_packed(self.rows.connection, self.rows.path, query)


def has_indexes(connection: sqlite3.Connection) -> bool:
    """Whether there is an index for each secondary key. Raises sqlite3.Error."""
    # By statements: in a file from elsewhere a table may have a pragma's name.
    indexes = connection.execute(f"PRAGMA main.index_list({COIN_TABLE})").fetchall()
    whole = [name for _, name, _, _, is_partial in indexes if not is_partial]
    return _INDEXED.issubset(_searched_column(connection, name) for name in whole)


def _searched_column(connection: sqlite3.Connection, index: str) -> str:
    quoted = index.replace('"', '""')
    columns = connection.execute(f'PRAGMA main.index_info("{quoted}")').fetchall()
    return str(columns[0][2])


def coins_packed(connection: sqlite3.Connection, path: Path, query: CoinQuery) -> bytes:
    found = sorted(_found(connection, path, query))
    return b"".join(packed for _, _, packed in found[: query.limit])


def _found(connection: sqlite3.Connection, path: Path, query: CoinQuery) -> Iterator[_Found]:
    """The coins that are asked for: of each part of the values no more than the limit."""
    order = "max(confirmed_index, spent_index)" if query.by_change else "confirmed_index"
    columns = f"{order}, coin_name, timestamp, {COIN_COLUMNS}"
    wanted = query.separate_values()
    limit = _NO_LIMIT if query.limit is None else min(query.limit, _MOST_LIMIT)
    conditions, bounds = _conditions(query)
    for begin, key, values in _asked(query.key, wanted):
        # A + keeps SQLite from searching by, or going over all coins in, the order of another key.
        statement = (
            f"{begin} SELECT {columns} FROM {COIN_TABLE} WHERE {' AND '.join([key, *conditions])}"
            f" ORDER BY +{order}, +coin_name LIMIT ?"
        )
        for changed, name, timestamp, *stored in connection.execute(
            statement, [*values, *bounds, limit]
        ):
            coin = StoredCoin._make(stored)
            keys = {
                CoinKey.NAME: name,
                CoinKey.PUZZLE_HASH: coin.puzzle_hash,
                CoinKey.PARENT: coin.parent,
            }
            is_asked = query.key is CoinKey.NONE or keys[query.key] in wanted
            if not is_asked or coin.name() != name or not coin.has_possible_indices():
                problem = f"coin row {coin.row} does not hold the coin that an index finds there"
                raise CorruptDatabaseError(path, problem)
            yield changed, name, _packed(name, coin, timestamp)


def _asked(key: CoinKey, values: set[bytes]) -> Iterator[tuple[str, str, list[Any]]]:
    """For each part of the values a statement's beginning, its condition, and their parameters."""
    if key is CoinKey.NONE:
        yield "", "TRUE", []
        return
    each = f"SELECT substr(?2, {NAME_BYTES} * n + 1, {NAME_BYTES}) FROM each"
    for _, n_values, part in parts(b"".join(sorted(values)), NAME_BYTES):
        yield EACH, f"{_KEYS[key]} IN ({each})", [n_values, part]


def _conditions(query: CoinQuery) -> tuple[list[str], list[int | bytes]]:
    """What else must be true of a coin, and the parameters. Without a key SQLite searches by it."""
    plus = "" if query.key is CoinKey.NONE else "+"
    conditions: list[str] = []
    bounds: list[int | bytes] = []
    # An unspent coin's spent_index is 0 or -1.
    for column, ends in (("confirmed_index", query.confirmed), ("spent_index", query.spent)):
        first, last = ends
        if first == last > 0:
            conditions.append(f"{plus}{column} = ?")
            bounds.append(first)
            continue
        if first > 0:
            conditions.append(f"{plus}{column} >= ?")
            bounds.append(first)
        if last < MAX_INDEX:
            conditions.append(f"{plus}{column} <= ?")
            bounds.append(last)
    if query.changed_from > 0:
        conditions.append(f"({plus}confirmed_index >= ? OR {plus}spent_index >= ?)")
        bounds += [query.changed_from] * 2
    if query.least_amount > 0:
        conditions.append("amount >= ?")
        bounds.append(query.least_amount.to_bytes(AMOUNT_BYTES, "big"))
    return conditions, bounds


def _packed(name: bytes, coin: StoredCoin, timestamp: int) -> bytes:
    amount = int.from_bytes(coin.amount_bytes, "big")
    indices = coin.confirmed_index, coin.spent_index
    fields = (coin.parent, coin.puzzle_hash, amount, *indices, from_signed(timestamp))
    return pack(COIN_FORMAT, name, *fields)
