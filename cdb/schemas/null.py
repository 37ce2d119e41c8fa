"""Parses, names and forgets: what the harness itself costs. It keeps no contract.

Nothing is kept: every lookup finds nothing, and nothing is written to disk.
"""

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.contract.packed import PackedBlocks
from cdb.contract.rules import named_block
from cdb.contract.schema import AcceptsPacked
from cdb.contract.spec import SchemaSpec
from cdb.disk.sharing import Closing
from cdb.errors import BlockOrderError


class NullSchema(Closing):
    """See cdb.schemas.Schema for the methods; the path is ignored."""

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        durability: Durability = Durability.NONE,
        read_only: bool = False,
    ) -> None:
        self.last_block_index: int | None = None

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """Check and name the block, and forget it."""
        self.last_block_index = named_block(block_spend_info, self.last_block_index).index

    def accept_packed(self, packed: PackedBlocks) -> None:
        """Check the blocks' order, and forget them: they were named when they were packed."""
        packed = PackedBlocks.checked(packed)
        if not len(packed):
            return
        if self.last_block_index is not None and packed.indices[0] <= self.last_block_index:
            reason = f"the newest block is {self.last_block_index} already"
            raise BlockOrderError(reason, packed.indices[0])
        self.last_block_index = packed.indices[-1]

    def flush(self) -> None:
        """Nothing to do."""

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """Nothing is ever found."""
        return []

    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """Nothing is ever found."""
        return None

    def rewind_to_block_index(self, block_index: int) -> None:
        """Go on after block_index."""
        if self.last_block_index is not None and block_index < self.last_block_index:
            self.last_block_index = block_index if block_index >= 0 else None

    def blocks(self) -> Iterable[BlockSpendInfo]:
        """No blocks."""
        return iter(())

    def close(self) -> None:
        """Nothing to do."""


SCHEMA = SchemaSpec(
    NullSchema, durabilities=(Durability.NONE,), keeps_contract=False, offers=(AcceptsPacked,)
)

if TYPE_CHECKING:
    _accepts: type[AcceptsPacked] = NullSchema
