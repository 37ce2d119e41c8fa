"""A node's coin table as packed blocks, a range of heights at a time.

Rows are read by the node's own indexes, within the transaction of whoever opened the connection.
SQLite joins what a block's rows hold: no row becomes an object, unless one of its chunk is odd.
"""

import json
import sqlite3
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from operator import ne
from typing import Any, NamedTuple

from cdb.contract.coins import MAX_U32, NAME_BYTES
from cdb.contract.packed import AMOUNT_BYTES, CONFIRM_BYTES, PackedBlocks
from cdb.contract.packed_state import ascending, gathered, names_of
from cdb.errors import InvariantError
from cdb.node.migrate.oddities import Oddities, Oddity
from cdb.stores.node_table.table import COIN_TABLE
from cdb.stores.rows.sqlite import from_signed

_HIGHEST = MAX_U32 - 1
"""Height of a block: one more is there for what is rolled back above it."""
CHUNK_ROWS = 10_000
_LEAST_ROW_BYTES = 3 * 32 + 8
_REWARD_ZEROS = range(16, 28)
_IS_ZERO = bytes([1]) + bytes(255)
_AS_DIGITS = bytes.maketrans(b"\x00\x01", b"01")

_NUMBERS = ("confirmed_index", "spent_index", "coinbase", "timestamp")
_BLOBS = {
    "coin_name": NAME_BYTES,
    "coin_parent": NAME_BYTES,
    "puzzle_hash": NAME_BYTES,
    "amount": AMOUNT_BYTES,
}
# Only blobs are not below the empty one, which is sooner found than the name of a type.
_WELL_FORMED_SQL = " AND ".join(
    [f"typeof({name}) = 'integer'" for name in _NUMBERS]
    + [f"{name} >= x'' AND length({name}) = {n}" for name, n in _BLOBS.items()]
    + [f"spent_index <= {_HIGHEST}"]
)
_FINE_SQL = f"{_WELL_FORMED_SQL} AND NOT spent_index BETWEEN 1 AND confirmed_index - 1"
"""What no name is needed to see; _flaw has it all."""


class _Row(NamedTuple):
    """One that may be odd; name: None where it is none. Of a malformed one the rest says nothing:
    it is cast, as not every text is one to Python."""

    rowid: int
    is_well_formed: int
    name: bytes | None
    content: bytes
    confirmed: int
    spent: int


def rows_about(connection: sqlite3.Connection, table: str) -> int:
    """About how many coins a table has, at no cost. A row may have any number, but needs room."""
    pages = "pragma_page_count, pragma_page_size"
    query = f"SELECT max(rowid), (SELECT page_count * page_size FROM {pages}) FROM {table}"
    [(highest, file_bytes)] = connection.execute(query).fetchall()
    return int(max(0, min(highest or 0, file_bytes // _LEAST_ROW_BYTES)))


class _Confirmed(NamedTuple):
    """What a block confirms, as SQLite joins it; n_fine: of so many rows. Where not all are, the
    rest says nothing."""

    height: int
    n: int
    n_fine: int
    confirms: bytes
    names: bytes
    spent: bytes
    flags: str
    first_timestamp: int
    last_timestamp: int

    @property
    def timestamp(self) -> int:
        """The latest, of 64 bits without a sign."""
        return max(from_signed(self.first_timestamp), from_signed(self.last_timestamp))


@dataclass(frozen=True, slots=True)
class Chunk:
    """All blocks of some heights, without what is left out.

    last: the highest of these heights. spent: as the table has it, 0 and below for unspent, in the
    order of the confirms.
    """

    last: int
    blocks: PackedBlocks
    spent: "array[int]"
    oddities: Oddities


@dataclass(frozen=True, slots=True)
class NodeCoins:
    """A node's coin table, or one in its form. left_out: names of coins that no block may spend."""

    connection: sqlite3.Connection
    table: str = COIN_TABLE
    left_out: set[bytes] = field(default_factory=set)

    def newest(self) -> int:
        """The height of the newest block, -1 without one; those out of range don't count."""
        return max(self._newest("confirmed_index"), self._newest("spent_index"))

    def chain(self, height: int) -> str:
        """What the node calls its chain up to a block: that one's hash; empty where it says none.

        Blocks of two chains may have the same coins above one where they part. These hashes differ.
        """
        # A view is a program of whoever made the file: it may say anything, or run for ever.
        table = "SELECT 1 FROM sqlite_master WHERE name = 'full_blocks' AND rootpage > 0"
        if not self._rows(table):
            return ""
        query = "SELECT hex(header_hash) FROM full_blocks WHERE in_main_chain = 1 AND height = ?"
        return "".join(str(found) for (found,) in self._rows(query, height))

    def about(self) -> int:
        """About how many coins there are, at no cost."""
        return rows_about(self.connection, self.table)

    def unplaced(self) -> int:
        """How many rows no range of heights has: texts and blobs count as above all numbers."""
        outside = f"confirmed_index IS NULL OR confirmed_index < 0 OR confirmed_index > {_HIGHEST}"
        [(count,)] = self._rows(f"SELECT count(*) FROM {{table}} WHERE {outside}")
        return int(count)

    def chunks(self, first: int, last: int, *, with_spends: bool = True) -> Iterator[Chunk]:
        """The blocks from one height to another, which are there as a whole."""
        held: list[_Confirmed] = []
        n_coins = 0
        for block in self._confirmed(first, last):
            # A height that is no whole number is read with the one below it, and then found odd.
            if n_coins >= CHUNK_ROWS and block.height > held[-1].height:
                before = block.height - 1
                yield self._chunk(held, first, before, with_spends=with_spends)
                first, held, n_coins = before + 1, [], 0
            held.append(block)
            n_coins += block.n
        yield self._chunk(held, first, last, with_spends=with_spends)

    def _chunk(
        self, confirmed: list[_Confirmed], first: int, last: int, *, with_spends: bool
    ) -> Chunk:
        oddities = Oddities()
        coins = _Coins.of(confirmed)
        if coins is None:
            odd = self._odd_rows(first, last, oddities)
            coins = _Coins.of([*self._confirmed(first, last, without=odd)])
            if coins is None:
                problem = f"rows of {self.table} of heights {first} … {last} are odd as a whole"
                raise InvariantError(problem)
        spends = self._spends(first, last) if with_spends else {}
        coins.note(oddities)
        blocks = _blocks(coins, spends, oddities)
        return Chunk(last, blocks, coins.spent, oddities)

    def _confirmed(
        self, first: int, last: int, without: list[int] | None = None
    ) -> Iterator[_Confirmed]:
        """What blocks confirm, without some rows."""
        less = "" if without is None else "AND rowid NOT IN (SELECT value FROM json_each(?))"
        select = (
            f"SELECT CAST(confirmed_index AS INTEGER), count(*), sum({_FINE_SQL}),"
            " CAST(group_concat(coin_parent || puzzle_hash || amount, '') AS BLOB),"
            " CAST(group_concat(coin_name, '') AS BLOB),"
            " CAST(group_concat(spent_index) AS BLOB), group_concat(coinbase <> 0, ''),"
            " CAST(min(timestamp) AS INTEGER), CAST(max(timestamp) AS INTEGER)"
            f" FROM {self.table} WHERE confirmed_index >= ? AND confirmed_index < ? {less}"
            " GROUP BY confirmed_index"
        )
        values = (first, last + 1) if without is None else (first, last + 1, json.dumps(without))
        return map(_Confirmed._make, self.connection.execute(select, values))

    def _odd_rows(self, first: int, last: int, oddities: Oddities) -> list[int]:
        """The rows that can't be taken; they are noted."""
        select = (
            f"SELECT rowid, {_WELL_FORMED_SQL},"
            f" CASE WHEN coin_name >= x'' AND length(coin_name) = {NAME_BYTES} THEN coin_name END,"
            " CAST(coin_parent || puzzle_hash || amount AS BLOB),"
            " CAST(confirmed_index AS INTEGER), CAST(spent_index AS INTEGER) FROM {table}"
            " WHERE confirmed_index >= ? AND confirmed_index < ?"
        )
        rows = map(_Row._make, self._rows(select, first, last + 1))
        return [row.rowid for row in rows if not self._is_kept(row, oddities)]

    def _is_kept(self, row: _Row, oddities: Oddities) -> bool:
        """Whether a row can be taken; what can't is noted."""
        oddity = _flaw(row)
        if oddity is None:
            return True
        oddities[oddity] += 1
        if row.name is not None:
            self.left_out.add(row.name)
        return False

    def _spends(self, first: int, last: int) -> dict[int, bytes]:
        """The names of what blocks spend, by height."""
        select = (
            "SELECT spent_index, CAST(group_concat(coin_name, '') AS BLOB) FROM {table}"
            " WHERE spent_index BETWEEN ? AND ? AND typeof(spent_index) = 'integer'"
            " AND +confirmed_index BETWEEN 0 AND spent_index"
            f" AND typeof(coin_name) = 'blob' AND length(coin_name) = {NAME_BYTES}"
            " GROUP BY spent_index"
        )
        spends = dict(self._rows(select, max(first, 1), last))
        if self.left_out:
            spends = {height: self._without_left_out(names) for height, names in spends.items()}
        return {height: names for height, names in spends.items() if names}

    def _without_left_out(self, names: bytes) -> bytes:
        each = (names[at : at + NAME_BYTES] for at in range(0, len(names), NAME_BYTES))
        return b"".join([name for name in each if name not in self.left_out])

    def _newest(self, column: str) -> int:
        is_placed = f"{column} BETWEEN 0 AND {_HIGHEST}"
        query = f"SELECT CAST(max({column}) AS INTEGER) FROM {{table}} WHERE {is_placed}"
        [(newest,)] = self._rows(query)
        # An unspent coin's spent height is 0, which is no block's.
        return -1 if newest is None or (column == "spent_index" and not newest) else int(newest)

    def _rows(self, select: str, *values: int) -> list[Any]:
        return self.connection.execute(select.format(table=self.table), values).fetchall()


class _Coins:
    """What blocks confirm, in canonical order, by columns."""

    def __init__(self, blocks: list[_Confirmed]) -> None:
        self.blocks = blocks
        self.ends = array("Q", accumulate(block.n for block in blocks))
        confirms = b"".join([block.confirms for block in blocks])
        names = b"".join([block.names for block in blocks])
        if names != names_of(confirms):
            raise ValueError("a name is not the coin's hash")
        spent = array("q", [int(height) for block in blocks for height in block.spent.split(b",")])
        order = ascending(self.ends, confirms, CONFIRM_BYTES)
        self.confirms = bytes(gathered(order, confirms, CONFIRM_BYTES))
        self.names = bytes(gathered(order, names, NAME_BYTES))
        self.spent: array[int] = array("q", bytes(gathered(order, spent.tobytes(), spent.itemsize)))
        flags = "".join([block.flags for block in blocks]).encode()
        shapes = _rewards(confirms).translate(_AS_DIGITS)
        self._n_odd_flags = 0 if flags == shapes else sum(map(ne, flags, shapes))

    @classmethod
    def of(cls, blocks: list[_Confirmed]) -> "_Coins | None":
        """The coins of blocks, if each row of them can be taken."""
        if any(block.n_fine != block.n for block in blocks):
            return None
        try:
            return cls(blocks)
        except ValueError:
            return None

    def note(self, oddities: Oddities) -> None:
        """Count what is taken and odd."""
        if self.spent and min(self.spent) < -1:
            oddities[Oddity.MARK] += sum(spent < -1 for spent in self.spent)
        oddities[Oddity.GENESIS] += sum(block.n for block in self.blocks if block.height == 0)
        oddities[Oddity.FLAG] += self._n_odd_flags
        several = [block.first_timestamp != block.last_timestamp for block in self.blocks]
        oddities[Oddity.TIMES] += sum(several)


def _flaw(row: _Row) -> Oddity | None:
    """Why a row can't be taken; None if it can."""
    if not row.is_well_formed:
        return Oddity.MALFORMED
    if names_of(row.content) != row.name:
        return Oddity.MISNAMED
    return Oddity.EARLY_SPEND if 0 < row.spent < row.confirmed else None


def _rewards(confirms: bytes) -> bytes:
    """For each coin 1 where its parent has a reward's shape, or else 0: is_reward() for many."""
    folded = 0
    for place in _REWARD_ZEROS:
        folded |= int.from_bytes(confirms[place::CONFIRM_BYTES], "big")
    return folded.to_bytes(len(confirms) // CONFIRM_BYTES, "big").translate(_IS_ZERO)


def _blocks(coins: _Coins, spends: dict[int, bytes], oddities: Oddities) -> PackedBlocks:
    confirmed = {block.height: block for block in coins.blocks}
    oddities[Oddity.SPENDS_ONLY] += len(spends.keys() - confirmed.keys())
    indices = array("Q", sorted(confirmed.keys() | spends.keys()))
    timestamps, spend_ends, confirm_ends = (array("Q") for _ in range(3))
    n_spends = n_confirms = 0
    for index in indices:
        block = confirmed.get(index)
        n_confirms += 0 if block is None else block.n
        n_spends += len(spends.get(index, b"")) // NAME_BYTES
        timestamps.append(0 if block is None else block.timestamp)
        spend_ends.append(n_spends)
        confirm_ends.append(n_confirms)
    names = b"".join([spends[index] for index in indices if index in spends])
    order = ascending(spend_ends, names, NAME_BYTES)
    return PackedBlocks(
        indices,
        timestamps,
        spend_ends,
        confirm_ends,
        bytes(gathered(order, names, NAME_BYTES)),
        coins.confirms,
        coins.names,
    )
