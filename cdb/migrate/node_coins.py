"""A node's coin table as packed blocks, a range of heights at a time.

Rows are read by the node's own indexes, within the transaction of whoever opened the connection. A
row becomes no object but SQLite's: columns are joined, and what is odd is looked for, in whole.
"""

import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import compress
from operator import lt
from typing import Any

from cdb.coins import MAX_U32
from cdb.migrate.oddities import Oddities, Oddity
from cdb.node.table import COIN_TABLE
from cdb.packed import CONFIRM_BYTES, PackedBlocks
from cdb.packed_state import names_of
from cdb.rows.sqlite import from_signed, tables_of

_HIGHEST = MAX_U32 - 1
"""Height of a block: one more is there for what is rolled back above it."""
CHUNK_ROWS = 10_000
_REWARD_ZEROS = range(16, 28)
_IS_ZERO = bytes([1]) + bytes(255)

_Row = tuple[Any, ...]
_CONFIRMED, _CONTENT, _NAME, _SPENT, _TIMESTAMP, _COINBASE = range(6)


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
        if "full_blocks" not in tables_of(self.connection):
            return ""
        query = "SELECT hex(header_hash) FROM full_blocks WHERE in_main_chain = 1 AND height = ?"
        return "".join(str(found) for (found,) in self._rows(query, height))

    def about(self) -> int:
        """About how many coins there are, at no cost."""
        [(rows,)] = self._rows("SELECT max(rowid) FROM {table}")
        return int(rows or 0)

    def unplaced(self) -> int:
        """How many rows no range of heights has: texts and blobs count as above all numbers."""
        outside = f"confirmed_index IS NULL OR confirmed_index < 0 OR confirmed_index > {_HIGHEST}"
        [(count,)] = self._rows(f"SELECT count(*) FROM {{table}} WHERE {outside}")
        return int(count)

    def chunks(self, first: int, last: int, *, with_spends: bool = True) -> Iterator[Chunk]:
        """The blocks from one height to another, which are there as a whole."""
        select = (
            "SELECT confirmed_index, CAST(coin_parent || puzzle_hash || amount AS BLOB), coin_name,"
            f" spent_index, timestamp, coinbase FROM {self.table}"
            " WHERE confirmed_index >= ? AND confirmed_index < ? ORDER BY confirmed_index"
        )
        # A height that is no whole number is read with the block below it, and then found odd.
        cursor = self.connection.execute(select, (first, last + 1))
        held: list[_Row] = []
        while rows := cursor.fetchmany(CHUNK_ROWS):
            held += rows
            newest = int(held[-1][_CONFIRMED])
            complete = bisect_left(held, newest, key=_confirmed)
            if complete:
                yield self._chunk(held[:complete], first, newest - 1, with_spends=with_spends)
                first, held = newest, held[complete:]
        yield self._chunk(held, first, last, with_spends=with_spends)

    def _chunk(self, rows: list[_Row], first: int, last: int, *, with_spends: bool) -> Chunk:
        oddities = Oddities()
        coins = _Coins.of(rows)
        if coins is None:
            coins = _Coins.of([row for row in rows if self._is_kept(row, oddities)])
            assert coins is not None  # noqa: S101 - each row was looked at
        spends = self._spends(first, last) if with_spends else []
        coins.note(oddities)
        blocks = _blocks(coins, spends, oddities)
        return Chunk(last, blocks, coins.spent, oddities)

    def _is_kept(self, row: _Row, oddities: Oddities) -> bool:
        """Whether a row can be taken; what can't is noted."""
        oddity = _flaw(row)
        if oddity is None:
            return True
        oddities[oddity] += 1
        if type(row[_NAME]) is bytes:
            self.left_out.add(row[_NAME])
        return False

    def _spends(self, first: int, last: int) -> list[tuple[int, bytes]]:
        select = (
            "SELECT spent_index, coin_name FROM {table} WHERE spent_index BETWEEN ? AND ?"
            " AND confirmed_index BETWEEN 0 AND spent_index AND typeof(coin_name) = 'blob'"
        )
        spends = self._rows(select, max(first, 1), last)
        if self.left_out:
            spends = [row for row in spends if row[1] not in self.left_out]
        return sorted(spends)

    def _newest(self, column: str) -> int:
        select = f"SELECT max({column}) FROM {{table}} WHERE {column} BETWEEN 0 AND {_HIGHEST}"
        [(newest,)] = self._rows(select)
        # An unspent coin's spent height is 0, which is no block's.
        return -1 if newest is None or (column == "spent_index" and not newest) else int(newest)

    def _rows(self, select: str, *values: int) -> list[Any]:
        return self.connection.execute(select.format(table=self.table), values).fetchall()


class _Coins:
    """Rows that hold coins, in canonical order, by columns."""

    def __init__(self, rows: list[_Row]) -> None:
        rows.sort()
        columns = zip(*rows, strict=True) if rows else ((),) * 6
        confirmed, contents, names, spent, timestamps, coinbase = columns
        self.confirmed: array[int] = array("q", confirmed)
        self.confirms = b"".join(contents)
        self.names = b"".join(names)
        self.spent: array[int] = array("q", spent)
        self.timestamps: array[int] = array("q", timestamps)
        self._coinbase: array[int] = array("q", coinbase)

    @classmethod
    def of(cls, rows: list[_Row]) -> "_Coins | None":
        """The coins of rows, if all of them can be taken."""
        try:
            coins = cls(rows)
        except (TypeError, OverflowError):  # other types than a node writes
            return None
        is_whole = len(coins.confirms) == CONFIRM_BYTES * len(rows)
        if not is_whole or coins.names != names_of(coins.confirms) or coins._has_early_spends():
            return None
        return coins

    def _has_early_spends(self) -> bool:
        """Whether one is spent before it is confirmed, or beyond all heights: without a step of
        Python's for each."""
        is_spent = [*map((0).__lt__, self.spent)]
        spent, confirmed = compress(self.spent, is_spent), compress(self.confirmed, is_spent)
        return max(self.spent, default=0) > _HIGHEST or any(map(lt, spent, confirmed))

    def note(self, oddities: Oddities) -> None:
        """Count what is taken and odd."""
        if self.spent and min(self.spent) < -1:
            oddities[Oddity.MARK] += sum(spent < -1 for spent in self.spent)
        genesis = bisect_right(self.confirmed, 0)
        if genesis:
            oddities[Oddity.GENESIS] += genesis
        shapes = array("q", list(_rewards(self.confirms)))
        if shapes != self._coinbase:
            pairs = zip(shapes, self._coinbase, strict=True)
            oddities[Oddity.FLAG] += sum(shape != bool(flag) for shape, flag in pairs)


def _confirmed(row: _Row) -> int:
    height: int = row[_CONFIRMED]
    return height


def _flaw(row: _Row) -> Oddity | None:
    """Why a row can't be taken; None if it can."""
    content, name, spent, confirmed = row[_CONTENT], row[_NAME], row[_SPENT], row[_CONFIRMED]
    kinds = [type(value) for value in row]
    if kinds != [int, bytes, bytes, int, int, int] or len(content) != CONFIRM_BYTES:
        return Oddity.MALFORMED
    if names_of(content) != name:
        return Oddity.MISNAMED
    if spent > _HIGHEST:
        return Oddity.MALFORMED
    return Oddity.EARLY_SPEND if 0 < spent < confirmed else None


def _rewards(confirms: bytes) -> bytes:
    """For each coin 1 where its parent has a reward's shape, or else 0: is_reward() for many."""
    folded = 0
    for place in _REWARD_ZEROS:
        folded |= int.from_bytes(confirms[place::CONFIRM_BYTES], "big")
    return folded.to_bytes(len(confirms) // CONFIRM_BYTES, "big").translate(_IS_ZERO)


def _blocks(coins: _Coins, spends: list[tuple[int, bytes]], oddities: Oddities) -> PackedBlocks:
    indices, timestamps, spend_ends, confirm_ends = (array("Q") for _ in range(4))
    confirmed, spent = coins.confirmed, array("q", [height for height, _ in spends])
    confirm = spend = 0
    while confirm < len(confirmed) or spend < len(spent):
        index = min(*confirmed[confirm : confirm + 1], *spent[spend : spend + 1], MAX_U32)
        start, confirm = confirm, bisect_right(confirmed, index, confirm)
        spend = bisect_right(spent, index, spend)
        times = coins.timestamps[start:confirm]
        oddities[Oddity.SPENDS_ONLY] += not times
        is_one = times[:-1] == times[1:]
        oddities[Oddity.TIMES] += not is_one
        indices.append(index)
        timestamps.append(max(map(from_signed, times[:1] if is_one else times), default=0))
        spend_ends.append(spend)
        confirm_ends.append(confirm)
    names = b"".join([name for _, name in spends])
    return PackedBlocks(
        indices, timestamps, spend_ends, confirm_ends, names, coins.confirms, coins.names
    )
