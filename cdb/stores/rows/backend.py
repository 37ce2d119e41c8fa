"""Coin rows, and what finds them by name, as the backend of a store."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from cdb.contract.blocks import BlockSpendInfo, NamedBlock
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.packed import PackedBlocks, pack_named
from cdb.stores.rows.batch import Batch, plan_batch
from cdb.stores.rows.coin_rows import CoinRows
from cdb.stores.rows.names import Names


class NamedRows:
    """See cdb.front.store.Backend for the methods; what is more takes whole packs."""

    def __init__(self, rows: CoinRows, names: Names) -> None:
        self._rows = rows
        self._names = names

    @property
    def newest_index(self) -> int | None:
        """See Backend."""
        return self._rows.newest_index

    def find(self, names: Sequence[bytes32]) -> list[CoinInfo | None]:
        """See Backend."""
        coins = self._rows.read.named_coins(self._names.find(names), names)
        return [None if coin is None else coin.info() for coin in coins]

    def add(self, block: NamedBlock) -> None:
        """See Backend."""
        batch = self.planned(pack_named(block))
        if batch is None:
            raise AssertionError(f"block {block.index} breaks no rule, but does not fit")
        self.append(batch)

    def planned(self, packed: PackedBlocks) -> Batch | None:
        """The blocks as rows to append; None where one breaks a rule."""
        first_row = self._rows.row_count + 1
        known = _KnownCoins(self._rows, self._names)
        return plan_batch(packed, self._rows.newest_index, first_row, known)

    def append(self, batch: Batch) -> None:
        """Add the blocks of a batch that was planned just before."""
        self._rows.append(batch)
        self._names.add(batch.rows)

    def commit(self) -> None:
        """See Backend."""
        self._rows.commit()
        self._names.committed()

    def settle(self) -> None:
        """Do all the compaction that the names owe, durably; the rows owe none."""
        self._names.settle()

    @property
    def is_settled(self) -> bool | None:
        """Whether settle() would have nothing to do; None where nobody knows."""
        return self._names.is_settled

    def finish(self) -> None:
        """Commit so that the next opening need not read rows again."""
        self._rows.commit()
        self._names.checkpoint()

    def rewind(self, block_index: int) -> None:
        """See Backend."""
        # The index first: after a crash between the two it lacks rows, which it can regain.
        self._names.rewind(self._rows.rows_kept_by(block_index))
        self._rows.rewind(block_index)

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """See Backend."""
        return self._rows.read.block(block_index)

    def blocks(self) -> Iterator[BlockSpendInfo]:
        """See Backend."""
        return self._rows.blocks()

    def close(self) -> None:
        """See Backend."""
        with ExitStack() as stack:
            stack.callback(self._rows.close)
            stack.callback(self._names.close)


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
    from cdb.front.store import Backend

    _keeps: type[Backend] = NamedRows
