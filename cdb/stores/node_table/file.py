"""Reads a database that a full node wrote, without changing a byte of it."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from struct import iter_unpack
from typing import Any, NoReturn, TypeVar

from cdb.contract.blocks import BlockSpendInfo, canonical
from cdb.contract.coin_query import CoinQuery
from cdb.contract.coins import MAX_U32, bytes32_unchecked
from cdb.contract.history import PAGE_ROWS, Page, cut, masked, unspent_pages
from cdb.contract.packed import (
    MOST_ENTRIES,
    Fields,
    PackedBlocks,
    in_packs,
    pack_unnamed,
    packed_infos,
)
from cdb.errors import CorruptDatabaseError
from cdb.stores.node_table.keys import coins_packed
from cdb.stores.node_table.table import COIN_COLUMNS, COIN_TABLE, TABLES
from cdb.stores.rows.snapshot import Snapshot
from cdb.stores.rows.sqlite import from_signed, select_in
from cdb.stores.rows.stored import StoredCoin

T = TypeVar("T")

_SELECT = f"SELECT coin_name, timestamp, {COIN_COLUMNS} FROM {COIN_TABLE}"

Row = tuple[Any, ...]
_NAME, _TIMESTAMP, _COIN = 0, 1, 2
_CONFIRMED, _SPENT = 6, 7


class NodeRows:
    """The reading half of a HistoryBackend and a KeyedBackend, as of the moment of opening.

    A node's blocks are the heights that confirm coins, because every transaction block confirms
    reward coins. While this is open, the node's checkpoints can't reclaim its -wal file.
    """

    reads_beside = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._snapshot = Snapshot(path, TABLES)
        self.close = self._snapshot.close

    @property
    def newest_index(self) -> int | None:
        """See PackedBackend."""
        (newest,) = self._query(f"SELECT max(confirmed_index) FROM {COIN_TABLE}")[0]
        index: int | None = newest
        return index

    def find(self, names: bytes | memoryview) -> tuple[bytearray, bytearray]:
        """See PackedBackend."""
        each = [name for (name,) in iter_unpack("32s", names)]
        with self._snapshot.reading():
            select = f"{_SELECT} WHERE coin_name"
            rows = select_in(self._snapshot.connection, select, each)
            coins = {row[_NAME]: self._checked(row).fields() for row in rows}
        return packed_infos(map(coins.get, each))

    def find_as_of(self, names: bytes | memoryview, height: int) -> tuple[bytearray, bytearray]:
        """See AsOfBackend."""
        return masked(self.find(names), height)

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """See PackedBackend."""
        confirms = self._query(f"{_SELECT} WHERE confirmed_index = ?", block_index)
        if not confirms:
            return None
        spends = self._query(f"{_SELECT} WHERE spent_index > 0 AND spent_index = ?", block_index)
        with self._snapshot.reading():
            return self._block(block_index, confirms, spends)

    def read(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """See PackedBackend."""
        wanted = range(first, last + 1)
        blocks = (pack_unnamed([block]) for block in self._blocks() if block.index in wanted)
        return in_packs(blocks, min(entries, MOST_ENTRIES))

    def ask(self, query: CoinQuery) -> bytes:
        """See KeyedBackend."""
        with self._snapshot.reading():
            return coins_packed(self._snapshot.connection, self._path, query)

    def state_at(self, height: int, *, only_unspent: bool) -> Iterator[Page]:
        """See HistoryBackend: in the order of the rows, which is that of creation."""
        pages = self._state_at(height)
        return unspent_pages(pages) if only_unspent else pages

    def versions(self, first: int, last: int) -> Iterator[Page]:
        """See HistoryBackend."""
        heights = self._heights(max(first, 0), last)
        pages = self._each(self._versions_of(*height) for height in heights)
        return (each for page in pages for each in cut(page))

    def accept(self, *_: object, **__: object) -> NoReturn:
        """Never called: a node's own database is only read."""
        raise AssertionError(f"{self._path}: a node's own database is only read")

    commit = rewind = finish = accept

    def _query(self, query: str, *parameters: int) -> list[Row]:
        with self._snapshot.reading():
            return self._snapshot.connection.execute(query, parameters).fetchall()

    def _state_at(self, height: int) -> Iterator[Page]:
        # A + keeps SQLite from searching by an index, and sorting all that it finds.
        query = f"{_SELECT} WHERE +confirmed_index <= ? ORDER BY rowid"
        with self._snapshot.reading():
            rows = self._snapshot.connection.execute(query, (height,))
        while True:
            with self._snapshot.reading():
                page = rows.fetchmany(PAGE_ROWS)
                coins = [(row[_NAME], self._checked(row).fields(height)) for row in page]
            if not coins:
                return
            yield _page(coins)

    def _blocks(self) -> Iterator[BlockSpendInfo]:
        return self._each(self._block(*height) for height in self._heights())

    def _versions_of(self, index: int, confirms: Sequence[Row], spends: Sequence[Row]) -> Page:
        coins = {row[_NAME]: self._checked(row).fields(index) for row in (*confirms, *spends)}
        return _page(sorted(coins.items()))

    def _each(self, items: Iterator[T]) -> Iterator[T]:
        """The items: what reads one is over before it is given out."""
        while True:
            with self._snapshot.reading():
                item = next(items, None)
            if item is None:
                return
            yield item

    def _heights(
        self, first: int | None = None, last: int = 0
    ) -> Iterator[tuple[int, list[Row], list[Row]]]:
        """Each block's index, the coins that it confirms, and those that it spends.

        Without ends also what has no index, which is damage.
        """
        query = self._snapshot.connection.execute
        if first is None:
            confirmed = query(f"{_SELECT} ORDER BY confirmed_index")
            spent = query(f"{_SELECT} WHERE spent_index > 0 ORDER BY spent_index")
        else:
            is_within = "BETWEEN ? AND ? ORDER BY"
            confirmed = query(
                f"{_SELECT} WHERE confirmed_index {is_within} confirmed_index", (first, last)
            )
            spent = query(
                f"{_SELECT} WHERE spent_index {is_within} spent_index", (max(first, 1), last)
            )
        spends_by_index = groupby(spent, itemgetter(_SPENT))
        spending = next(spends_by_index, None)
        for index, confirms in groupby(confirmed, itemgetter(_CONFIRMED)):
            if spending is not None and spending[0] < index:
                break
            spends: list[Row] = []
            if spending is not None and spending[0] == index:
                spends = list(spending[1])
                spending = next(spends_by_index, None)
            yield index, list(confirms), spends
        if spending is not None:
            problem = f"block {spending[0]} spends coins, but confirms none"
            raise CorruptDatabaseError(self._path, problem)

    def _block(self, index: int, confirms: Sequence[Row], spends: Sequence[Row]) -> BlockSpendInfo:
        timestamps = {row[_TIMESTAMP] for row in confirms}
        if len(timestamps) != 1:
            problem = f"the coins of block {index} have {len(timestamps)} different timestamps"
            raise CorruptDatabaseError(self._path, problem)
        return canonical(
            BlockSpendInfo(
                index,
                from_signed(timestamps.pop()),
                [self._checked(row).name() for row in spends],
                [self._checked(row).coin() for row in confirms],
            )
        )

    def _checked(self, row: Row) -> StoredCoin:
        coin = StoredCoin._make(row[_COIN:])
        if coin.name() != row[_NAME]:
            problem = f"the coin named {bytes32_unchecked(row[_NAME]).hex()} has other contents"
            raise CorruptDatabaseError(self._path, problem)
        for index in (coin.confirmed_index, coin.spent_index):
            if not isinstance(index, int) or not 0 <= index <= MAX_U32:
                raise CorruptDatabaseError(self._path, f"a coin's block index is {index!r}")
        return coin


def _page(coins: Sequence[tuple[bytes, Fields]]) -> Page:
    names = b"".join([name for name, _ in coins])
    infos, _ = packed_infos(fields for _, fields in coins)
    return Page(names, infos)
