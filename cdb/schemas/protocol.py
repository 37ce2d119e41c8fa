"""The contract that every schema keeps; cdb.testing.SchemaConformance holds it to it."""

from collections.abc import Iterable
from os import PathLike
from types import TracebackType
from typing import Protocol, Self

from cdb.blocks import BlockSpendInfo
from cdb.coins import CoinInfo, bytes32
from cdb.durability import Durability


class Schema(Protocol):
    """A coin database. Nothing inherits this Protocol: a schema just has these methods.

    One thread writes; reads from any other thread are safe meanwhile and see whole blocks.
    """

    @property
    def last_block_index(self) -> int | None:
        """The index of the newest accepted block; None in an empty database."""
        ...

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """Add one block; what it does is visible to every read at once.

        Raises a BlockError, and is exactly as before, when the block breaks a rule.
        """
        ...

    def flush(self) -> None:
        """When this returns, everything accepted is as durable as the database was opened for."""
        ...

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """The coins of these names, in the order asked; unknown names are skipped."""
        ...

    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """The block at an index, in canonical order; None where no block was accepted."""
        ...

    def rewind_to_block_index(self, block_index: int) -> None:
        """Go back to the state after the last block with an index ≤ block_index, durably."""
        ...

    def blocks(self) -> Iterable[BlockSpendInfo]:
        """Every block in index order, lazily, as one snapshot, in bounded memory."""
        ...

    def close(self) -> None:
        """Flush, and release the database. A second call does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        ...


class SchemaFactory(Protocol):
    """What a schema module's SCHEMA is: a class or a function that opens a database."""

    def __call__(
        self,
        path: str | PathLike[str],
        *,
        durability: Durability = Durability.POWER,
        read_only: bool = False,
    ) -> Schema:
        """Create the database, or open the one that is there."""
        ...
