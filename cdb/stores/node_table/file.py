"""Reads a database that a full node wrote, without changing a byte of it."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NoReturn

from cdb.contract.blocks import BlockSpendInfo, canonical, checked_index, checked_names
from cdb.contract.coins import MAX_U32, CoinInfo, bytes32, bytes32_unchecked
from cdb.contract.history import PAGE_ROWS, as_of, checked_height
from cdb.disk.sharing import Shared, reading, whole
from cdb.errors import CorruptDatabaseError, UnsupportedError
from cdb.stores.node_table.table import COIN_COLUMNS, COIN_TABLE, TABLES
from cdb.stores.rows.snapshot import Snapshot
from cdb.stores.rows.sqlite import from_signed, select_in
from cdb.stores.rows.stored import StoredCoin

_SELECT = f"SELECT coin_name, timestamp, {COIN_COLUMNS} FROM {COIN_TABLE}"

Row = tuple[Any, ...]
_NAME, _TIMESTAMP, _COIN = 0, 1, 2
_CONFIRMED, _SPENT = 6, 7


class NodeFile(Shared):
    """See cdb.schemas.Schema: its reading half, as of the moment of opening.

    A node's blocks are the heights that confirm coins, because every transaction block confirms
    reward coins. While this is open, the node's checkpoints can't reclaim its -wal file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)
        self._path = path
        self._snapshot = Snapshot(path, TABLES)

    @property
    def last_block_index(self) -> int | None:
        """See Schema."""
        (newest,) = self._query(f"SELECT max(confirmed_index) FROM {COIN_TABLE}")[0]
        index: int | None = newest
        return index

    def coin_infos_for_coin_names(self, coin_names: Sequence[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        return self._infos(checked_names(coin_names))

    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """See Schema."""
        block_index = checked_index(block_index)
        confirms = self._query(f"{_SELECT} WHERE confirmed_index = ?", block_index)
        if not confirms:
            return None
        spends = self._query(f"{_SELECT} WHERE spent_index > 0 AND spent_index = ?", block_index)
        with self._snapshot.reading():
            return self._block(block_index, confirms, spends)

    def blocks(self) -> Iterator[BlockSpendInfo]:
        """See Schema."""
        self.guard.check()
        return self.iteration(self._blocks())

    def flush(self) -> None:
        """Nothing to do: nothing was written."""

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """A node's own database is only read."""
        self._refuse()

    def rewind_to_block_index(self, block_index: int) -> None:
        """A node's own database is only read."""
        self._refuse()

    @whole
    def close(self) -> None:
        """See Schema."""
        self.guard.closed = True
        self._snapshot.close()

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        names, height = checked_names(coin_names), checked_height(height)
        masked = (as_of(info, height) for info in self._infos(names))
        return [info for info in masked if info is not None]

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema: in the order of the rows, which is that of creation."""
        height = checked_height(height)
        self.guard.check()
        return self.iteration(self._state_at(height))

    def unspent(self) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        infos = self.state_at(MAX_U32)
        return self.iteration(info for info in infos if not info.spent_index)

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        first, last = checked_height(first), checked_height(last)
        self.guard.check()
        return self.iteration(self._versions(first, last))

    @reading
    def _infos(self, coin_names: Sequence[bytes32]) -> list[CoinInfo]:
        with self._snapshot.reading():
            select = f"{_SELECT} WHERE coin_name"
            rows = list(select_in(self._snapshot.connection, select, coin_names))
            coins = {row[_NAME]: self._checked(row).info() for row in rows}
        return [coins[name] for name in coin_names if name in coins]

    @reading
    def _query(self, query: str, *parameters: int) -> list[Row]:
        with self._snapshot.reading():
            return self._snapshot.connection.execute(query, parameters).fetchall()

    def _state_at(self, height: int) -> Iterator[CoinInfo]:
        # A + keeps SQLite from searching by an index, and sorting all that it finds.
        query = f"{_SELECT} WHERE +confirmed_index <= ? ORDER BY rowid"
        with self._snapshot.reading():
            rows = self._snapshot.connection.execute(query, (height,))
        while True:
            with self._snapshot.reading():
                page = [self._checked(row).info() for row in rows.fetchmany(PAGE_ROWS)]
            if not page:
                return
            for info in page:
                masked = as_of(info, height)
                if masked is not None:
                    yield masked

    def _versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        heights = self._heights(max(first, 0), last)
        while True:
            with self._snapshot.reading():
                index, confirms, spends = next(heights, (0, [], []))
                coins = {row[_NAME]: self._checked(row).info() for row in (*confirms, *spends)}
            if not coins:
                return
            for name in sorted(coins):
                masked = as_of(coins[name], index)
                if masked is not None:
                    yield masked

    def _blocks(self) -> Iterator[BlockSpendInfo]:
        heights = self._heights()
        while True:
            with self._snapshot.reading():
                height = next(heights, None)
                block = None if height is None else self._block(*height)
            if block is None:
                return
            yield block

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

    def _refuse(self) -> NoReturn:
        raise UnsupportedError(f"{self._path}: a node's own database is only read")
