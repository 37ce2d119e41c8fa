"""Schemas that each break the contract in one way, for tests of what notices it."""

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo, bytes32
from cdb.schemas.memory import MemorySchema


class MissesACoin(MemorySchema):
    """A lookup of many names misses one."""

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        infos = super().coin_infos_for_coin_names(coin_names)
        return infos[1:] if len(infos) > 10 else infos


class KnowsTooMuch(MemorySchema):
    """A lookup of unknown names finds something."""

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        known = [name if name in self._coins else next(iter(self._coins)) for name in coin_names]
        return super().coin_infos_for_coin_names(known)


class MissesABlock(MemorySchema):
    """An iteration misses a block."""

    def blocks(self) -> Iterable[BlockSpendInfo]:
        """See Schema."""
        return list(super().blocks())[:-1]


class LosesSpends(MemorySchema):
    """A block's last spend is lost."""

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        block = block_spend_info
        super().accept_block(
            BlockSpendInfo(block.index, block.timestamp, block.spends[:-1], block.confirms)
        )


class ForgetsBesideAWriter(MemorySchema):
    """A lookup in another thread than the first one finds no coin spent."""

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        infos = super().coin_infos_for_coin_names(coin_names)
        if threading.current_thread() is threading.main_thread():
            return infos
        return [replace(info, spent_index=0) for info in infos]


class StaysWhereItIs(MemorySchema):
    """A rewind does nothing."""

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""


class KeepsSpends(MemorySchema):
    """A rewind leaves coins spent."""

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        spent = dict(self._spent)
        super().rewind_to_block_index(block_index)
        self._spent.update(spent)


class KeepsCoins(MemorySchema):
    """A rewind leaves coins."""

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        coins, confirmed = dict(self._coins), dict(self._confirmed)
        super().rewind_to_block_index(block_index)
        self._coins, self._confirmed = coins, confirmed


class RewindsTooFar(MemorySchema):
    """A rewind goes one block too far."""

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        super().rewind_to_block_index(block_index - 1)


class Buggy(MemorySchema):
    """It raises what no schema should."""

    def flush(self) -> None:
        """See Schema."""
        raise KeyError("flush")


class Dies(MemorySchema):
    """Its process is killed."""

    def flush(self) -> None:
        """See Schema."""
        os.kill(os.getpid(), signal.SIGKILL)


class Settles(MemorySchema):
    """It breaks nothing, and has compaction to do."""

    def settle(self) -> None:
        """See docs/adding-a-schema.md."""
        if self._path is not None:
            self._path.with_name("db.settled").touch()


class CannotSettle(MemorySchema):
    """It fails, and holds what it held."""

    def settle(self) -> None:
        """See docs/adding-a-schema.md."""
        raise KeyError("settle")


class KeepsNoHistory(MemorySchema):
    """It has none of the methods of history, and breaks nothing."""

    coin_infos_as_of = state_at = unspent = versions = None  # type: ignore[assignment]


class TakesSpentForUnspent(MemorySchema):
    """What is unspent are all coins."""

    def unspent(self) -> Iterator[CoinInfo]:
        """See HistorySchema."""
        return self.state_at(self.last_block_index or 0)


class ForgetsAsOfTheTip(MemorySchema):
    """A look-up as of the newest block's height finds no coin spent."""

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        infos = super().coin_infos_as_of(coin_names, height)
        if height != self.last_block_index:
            return infos
        return [replace(info, spent_index=0) for info in infos]


class KeepsHalfAHistory(MemorySchema):
    """It has only some of the methods of history."""

    versions = None  # type: ignore[assignment]


class KnowsTooMuchAsOf(MemorySchema):
    """A look-up of unknown names as of a height finds something."""

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """See HistorySchema."""
        some = next(iter(self._coins))
        known = [name if name in self._coins else some for name in coin_names]
        return super().coin_infos_as_of(known, height)
