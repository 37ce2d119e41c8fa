"""Coin rows, and what finds them by name, as the backend of a store."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from struct import iter_unpack

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.facts import Facts
from cdb.contract.history import Page, masked
from cdb.contract.packed import PackedBlocks, packed_infos
from cdb.contract.packed_state import accept_in_order
from cdb.contract.rules import examine, join
from cdb.stores.rows import history
from cdb.stores.rows.batch import Batch
from cdb.stores.rows.coin_rows import CoinRows
from cdb.stores.rows.names import Names


class NamedRows:
    """See HistoryBackend, SettlingBackend and TellingBackend. rows: the coins, and the blocks."""

    reads_beside = False

    def __init__(self, rows: CoinRows, names: Names) -> None:
        self.rows = rows
        self._names = names

    @property
    def newest_index(self) -> int | None:
        """See PackedBackend."""
        return self.rows.newest_index

    def accept(self, blocks: PackedBlocks, *, may_defer: bool) -> PackedBlocks | None:
        """See PackedBackend. No refusal is deferred."""
        return accept_in_order(blocks, self._append)

    def commit(self) -> None:
        """See PackedBackend."""
        self.rows.commit()
        self._names.committed()

    def settle(self) -> None:
        """See SettlingBackend: the names owe it, and the rows nothing."""
        self.commit()
        self._names.settle()

    def facts(self) -> Facts:
        """See TellingBackend."""
        return Facts(self.rows.row_count, self._names.is_settled)

    def rewind(self, block_index: int) -> None:
        """See PackedBackend."""
        # The index first: after a crash between the two it lacks rows, which it can regain.
        self._names.rewind(self.rows.rows_kept_by(block_index))
        self.rows.rewind(block_index)

    def find(self, names: bytes | memoryview) -> tuple[bytearray, bytearray]:
        """See PackedBackend."""
        each = [name for (name,) in iter_unpack("32s", names)]
        coins = self.rows.read.named_coins(self._names.find(each), each)
        return packed_infos([None if coin is None else coin.fields() for coin in coins])

    def find_as_of(self, names: bytes | memoryview, height: int) -> tuple[bytearray, bytearray]:
        """See AsOfBackend."""
        return masked(self.find(names), height)

    def state_at(self, height: int, *, only_unspent: bool) -> Iterator[Page]:
        """See HistoryBackend: in the order of the rows, which is that of creation."""
        return self.rows.read_now(
            partial(history.state_at, height=height, only_unspent=only_unspent)
        )

    def versions(self, first: int, last: int) -> Iterator[Page]:
        """See HistoryBackend."""
        return self.rows.read_now(partial(history.versions, first=first, last=last))

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """See PackedBackend."""
        return self.rows.read.block(block_index)

    def read(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """See PackedBackend."""
        return self.rows.read_now(lambda reader: reader.packs(first, last, entries))

    def finish(self) -> None:
        """See PackedBackend: the next opening need not read rows again."""
        self.rows.commit()
        self._names.checkpoint()

    def close(self) -> None:
        """See PackedBackend."""
        with ExitStack() as stack:
            stack.callback(self.rows.close)
            stack.callback(self._names.close)

    def _append(self, blocks: PackedBlocks) -> bool:
        """Add all of the blocks; or none, and return False, where one breaks a rule."""
        first_row, known = self.rows.row_count + 1, _KnownCoins(self.rows, self._names)
        joined = join(blocks, self.rows.newest_index, first_row)
        faults, spent_rows = examine(joined, known)
        if faults:
            return False
        early = joined.early_parents
        self.rows.append(Batch(blocks, first_row, joined.coins, spent_rows, early))
        self._names.add(joined.coins)
        return True


class _KnownCoins:
    """See KnownCoins: coins by their rows."""

    def __init__(self, rows: CoinRows, names: Names) -> None:
        self._rows = rows
        self._names = names
        self.spent = rows.spent
        self.parents_of_older = rows.parents_of_older

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
