"""The store that keeps the contract over coin rows and a way to find them by name.

Shared by every schema whose coins are SQLite rows; docs/architecture.md says how the parts meet.
"""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from cdb.contract.blocks import BlockSpendInfo, checked_names, named_block
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.facts import Facts
from cdb.contract.history import PAGE_ROWS, as_of, checked_height
from cdb.contract.packed import PackedBlocks, pack_named
from cdb.contract.packed_state import check_canonical
from cdb.disk.sharing import reading, writing
from cdb.front.store import Store
from cdb.stores.rows import history
from cdb.stores.rows.backend import NamedRows
from cdb.stores.rows.coin_rows import CoinReader, CoinRows
from cdb.stores.rows.names import Names


class CoinStore(Store):
    """Takes blocks in packs, settles, and keeps history by the mask (cdb.contract.history).

    See Store for all else.

    One lock makes each call whole, so that reads from other threads are safe beside the writer.
    After a failed write nothing more can be done but to close it and open the database again.
    """

    def __init__(
        self,
        rows: CoinRows,
        names: Names,
        release: Callable[[], None],
        check_lock: Callable[[], None],
        *,
        read_only: bool,
    ) -> None:
        """check_lock: of a writer; raises where its lock is no longer that of the path."""
        self._rows = rows
        self._named_rows = NamedRows(rows, names)
        super().__init__(rows.path, self._named_rows, release, read_only=read_only)

        def check_place() -> None:  # of what it needs alone: a store that is dropped ends at once
            check_lock()
            rows.check_in_place()

        self.guard.check_place = check_place

    def accept_packed(self, packed: PackedBlocks) -> None:
        """See AcceptsPacked. No refusal is deferred."""
        self._accept_packed(check_canonical(packed))

    @writing
    def settle(self) -> None:
        """Flush, and do all the compaction that the names owe, durably; the rows owe none.

        Reads wait for it.
        """
        self._flush()
        with self.guard.write():
            self._named_rows.settle()

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        return self._infos_as_of(checked_names(coin_names), checked_height(height))

    @reading
    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """See HistorySchema: in the order of the rows, which is that of creation."""
        return self._read_now(partial(history.state_at, height=checked_height(height)))

    @reading
    def unspent(self) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        return self._read_now(history.unspent)

    @reading
    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        ends = checked_height(first), checked_height(last)
        return self._read_now(partial(history.versions, first=ends[0], last=ends[1]))

    @reading
    def facts(self) -> Facts:
        """See TellsFacts."""
        return Facts(self._rows.row_count, self._named_rows.is_settled)

    @reading
    def _infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        pages = (
            coin_names[start : start + PAGE_ROWS] for start in range(0, len(coin_names), PAGE_ROWS)
        )
        infos = chain.from_iterable(map(self._named_rows.find, pages))
        masked = (as_of(info, height) for info in infos if info is not None)
        return [info for info in masked if info is not None]

    def _read_now(self, read: Callable[[CoinReader], Iterator[CoinInfo]]) -> Iterator[CoinInfo]:
        self._flush()
        return self.iteration(self._rows.read_now(read))

    @writing
    def _accept_packed(self, packed: PackedBlocks) -> None:
        if not self._append(packed):
            for place in range(len(packed)):
                self._accept(packed.block(place))

    def _accept(self, block_spend_info: BlockSpendInfo) -> None:
        block = named_block(block_spend_info, self._rows.newest_index)
        if not self._append(pack_named(block)):
            self._check(block)
            raise AssertionError(f"block {block.index} breaks no rule, but does not fit")

    def _append(self, packed: PackedBlocks) -> bool:
        """Add all of the blocks; or none, and return False, where one breaks a rule."""
        if not len(packed):
            return True
        batch = self._named_rows.planned(packed)
        if batch is None:
            return False
        with self.guard.write():
            self._named_rows.append(batch)
        return True

    def _finish(self) -> None:
        self._named_rows.finish()


if TYPE_CHECKING:
    from cdb.contract.schema import AcceptsPacked, HistorySchema, Settles, TellsFacts

    _keeps: type[HistorySchema] = CoinStore
    _accepts: type[AcceptsPacked] = CoinStore
    _settles: type[Settles] = CoinStore
    _tells: type[TellsFacts] = CoinStore
