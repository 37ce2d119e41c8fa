"""The store that keeps the contract over coin rows and a way to find them by name.

Shared by every schema whose coins are SQLite rows; docs/architecture.md says how the parts meet.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NoReturn

from cdb.blocks import (
    BlockSpendInfo,
    NamedBlock,
    check_against_state,
    checked_index,
    checked_names,
    named_block,
)
from cdb.coins import CoinInfo, bytes32
from cdb.disk.sharing import Shared, reading, whole, writing
from cdb.facts import Facts
from cdb.packed import PackedBlocks, pack_named
from cdb.packed_state import check_canonical
from cdb.rows.batch import plan_batch
from cdb.rows.coin_rows import CoinRows
from cdb.rows.names import Names
from cdb.rows.stored import StoredCoin


class CoinStore(Shared):
    """Accepts blocks, flushes, looks up, rewinds and iterates: the contract of cdb.schemas.Schema.

    One lock makes each call whole, so that reads from other threads are safe beside the writer.
    After a failed write nothing more can be done but to close it and open the database again.
    """

    def __init__(
        self, rows: CoinRows, names: Names, release: Callable[[], None], *, read_only: bool
    ) -> None:
        super().__init__(rows.path, read_only=read_only)
        self._rows = rows
        self._names = names
        self._release = release

    @property
    def last_block_index(self) -> int | None:
        """The index of the newest block; None in an empty database."""
        return self._rows.newest_index

    @writing
    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """Add one block, whole or not at all. Raises a BlockError when it is refused."""
        self._accept(block_spend_info)

    def accept_packed(self, packed: PackedBlocks) -> None:
        """See AcceptsPacked. No refusal is deferred."""
        self._accept_packed(check_canonical(packed))

    @reading
    def flush(self) -> None:
        """Make everything accepted so far as durable as the database was opened for."""
        self._flush()

    @writing
    def settle(self) -> None:
        """Flush, and do all the compaction that the names owe, durably; the rows owe none.

        Reads wait for it.
        """
        self._flush()
        with self._guard.write():
            self._names.settle()

    @reading
    def facts(self) -> Facts:
        """See TellsFacts."""
        return Facts(self._rows.row_count, self._names.is_settled)

    def coin_infos_for_coin_names(self, coin_names: Sequence[bytes32]) -> list[CoinInfo]:
        """The coins of these names, in the order asked; unknown names are skipped."""
        return self._infos(checked_names(coin_names))

    @reading
    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """The canonical block at an index; None where no block was accepted."""
        return self._rows.read.block(checked_index(block_index))

    @writing
    def rewind_to_block_index(self, block_index: int) -> None:
        """Go back, durably, to the state after the last block with an index ≤ block_index."""
        block_index = checked_index(block_index)
        newest = self._rows.newest_index
        if newest is None or block_index >= newest:
            self._flush()
            return
        with self._guard.write():
            # The index first: after a crash between the two it lacks rows, which it can regain.
            self._names.rewind(self._rows.rows_kept_by(block_index))
            self._rows.rewind(block_index)

    @reading
    def blocks(self) -> Iterator[BlockSpendInfo]:
        """Every block in order, lazily, as a snapshot of the moment of this call."""
        self._flush()
        return self._iteration(self._rows.blocks())

    @whole
    def close(self) -> None:
        """Flush, and release the database. A second call releases what the first one could not."""
        if self._guard.disowned:
            return
        is_first = not self._guard.closed
        self._guard.closed = True
        with ExitStack() as stack:
            stack.callback(self._release)
            stack.callback(self._rows.close)
            stack.callback(self._names.close)
            if is_first and not self._guard.failed and not self._read_only:
                self._rows.commit()
                self._names.checkpoint()

    @writing
    def _accept_packed(self, packed: PackedBlocks) -> None:
        if not self._append(packed):
            for place in range(len(packed)):
                self._accept(packed.block(place))

    @reading
    def _infos(self, coin_names: Sequence[bytes32]) -> list[CoinInfo]:
        return [coin.info() for coin in self._stored(coin_names) if coin is not None]

    def _accept(self, block_spend_info: BlockSpendInfo) -> None:
        block = named_block(block_spend_info, self._rows.newest_index)
        if not self._append(pack_named(block)):
            self._refuse(block)

    def _flush(self) -> None:
        if not self._read_only:
            with self._guard.write():
                self._rows.commit()
                self._names.committed()

    def _append(self, packed: PackedBlocks) -> bool:
        """Add all of the blocks; or none, and return False, where one breaks a rule."""
        if not len(packed):
            return True
        first_row = self._rows.row_count + 1
        known = _KnownCoins(self._rows, self._names)
        batch = plan_batch(packed, self._rows.newest_index, first_row, known)
        if batch is None:
            return False
        with self._guard.write():
            self._rows.append(batch)
            self._names.add(batch.rows)
        return True

    def _refuse(self, block: NamedBlock) -> NoReturn:
        """Raise the error for the rule that the block breaks."""
        stored = self._stored([*block.outside_spends, *block.names])
        spent = [
            None if coin is None else coin.spent_index
            for coin in stored[: len(block.outside_spends)]
        ]
        exists = [coin is not None for coin in stored[len(block.outside_spends) :]]
        check_against_state(block, spent, exists)
        raise AssertionError(f"block {block.index} breaks no rule, but does not fit")

    def _stored(self, names: Sequence[bytes]) -> list[StoredCoin | None]:
        """The coins of these names, None where there is none."""
        return self._rows.read.named_coins(self._names.find(names), names)


class _KnownCoins:
    """See batch.KnownCoins."""

    def __init__(self, rows: CoinRows, names: Names) -> None:
        self._rows = rows
        self._names = names
        self.any_spent = rows.any_spent
        self.may_have_child = rows.may_have_child
        self.may_have_early_child = rows.may_have_early_child

    def find(self, names: Sequence[bytes]) -> list[int | None]:
        """The row of each name; those that are found on disk are verified."""
        rows = self._names.find(names)
        newest = self._names.newest_stored_row
        stored = [
            (row, name)
            for row, name in zip(rows, names, strict=True)
            if row is not None and row <= newest
        ]
        self._rows.read.named_coins([row for row, _ in stored], [name for _, name in stored])
        return rows


if TYPE_CHECKING:
    from cdb.schemas.protocol import AcceptsPacked, Schema, Settles, TellsFacts

    _keeps: type[Schema] = CoinStore
    _accepts: type[AcceptsPacked] = CoinStore
    _settles: type[Settles] = CoinStore
    _tells: type[TellsFacts] = CoinStore
