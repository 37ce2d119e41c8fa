"""Twins of the good small store that promise or show what is not so, and one that leaks."""

from os import PathLike

from cdb.contract.packed import PackedBlocks
from cdb.disk import sharing
from cdb.errors import BlockError
from cdb.schemas.null import NullSchema
from tests.faults.broken import Good


class FlushesLater(Good):
    """Promises what only close() does."""

    def flush(self) -> None:
        """Not yet."""

    def close(self) -> None:
        """See Schema."""
        if not self.guard.closed:
            super().flush()
        super().close()


class ForgetsThePack(Good):
    """When a block is refused, those before it in its pack are gone too."""

    def accept_packed(self, packed: PackedBlocks) -> None:
        """See cdb.contents.loader.accept."""
        newest = self.last_block_index
        try:
            for place in range(len(packed)):
                self.accept_block(packed.block(place))
        except BlockError:
            self.rewind_to_block_index(-1 if newest is None else newest)
            raise


class ShowsHalfABlock(Good):
    """Who opens it only for reading misses a coin of the newest block."""

    def __init__(self, path: str | PathLike[str], *, read_only: bool = False) -> None:
        self.LOCK = not read_only
        super().__init__(path)
        if read_only:
            for coin in self._blocks.peekitem()[1].confirms[:1]:
                del self._coins[coin.name()]


class LetsChildrenWrite(Good):
    """Doesn't notice that it is a copy in a child."""

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)
        sharing._open.discard(self)


class Leaks(NullSchema):
    """Keeps in memory what it never reads."""

    def accept_packed(self, packed: PackedBlocks) -> None:
        """See cdb.contents.loader.accept."""
        super().accept_packed(packed)
        self._kept = [*getattr(self, "_kept", []), bytes(packed.confirms)]
