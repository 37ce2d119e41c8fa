"""Schemas that each break one promise of openings with read_only; the rest is the starter's."""

from functools import partial
from pathlib import Path
from typing import Any

from cdb.building import open_backend
from cdb.building.starter import Blocks
from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import CoinInfo
from cdb.contract.durability import Durability
from cdb.contract.objects import packed_block
from cdb.disk.files import fsync_dir
from cdb.front.store import Store


class _Follows(Blocks):
    """Each look-up is of the newest state."""

    def __init__(self, path: Path, *, durability: Durability, read_only: bool) -> None:
        super().__init__(path, durability=durability, read_only=read_only)
        self._again = partial(Blocks, path, durability=durability, read_only=True)
        self._follows = read_only

    def find(self, names: Any) -> list[CoinInfo | None]:
        if self._follows:
            self._coins = self._again()._coins
        return super().find(names)


class _IsTwoMoments(_Follows):
    """Blocks are of the opening, the newest index is of now."""

    @property
    def newest_index(self) -> int | None:
        return self._again().newest_index if vars(self).get("_follows") else super().newest_index

    def find(self, names: Any) -> list[CoinInfo | None]:
        return Blocks.find(self, names)


class _Leaves(Blocks):
    """A reader leaves a file."""

    def __init__(self, path: Path, *, durability: Durability, read_only: bool) -> None:
        super().__init__(path, durability=durability, read_only=read_only)
        if read_only:
            (path / "readers").touch()
            fsync_dir(path)


class _Takes(Store):
    """What is to be written is taken, and kept in memory."""

    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        packed = packed_block(block_spend_info)
        assert packed is not None
        self._accept(packed, may_defer=False)


class _Goes(Store):
    """A rewind below nothing is done in silence."""

    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        if not self.read_only:
            super().rewind_to_block_index(block_index)


def makes(path: str, *, read_only: bool = False) -> Store:
    """Where nothing is, a reader gets an empty database."""
    if read_only and not Path(path).exists():
        open_backend("broken", Blocks, path).close()
    return open_backend("broken", Blocks, path, read_only=read_only)


follows = partial(open_backend, "broken", _Follows)
is_two_moments = partial(open_backend, "broken", _IsTwoMoments)
leaves = partial(open_backend, "broken", _Leaves)
takes = partial(open_backend, "broken", Blocks, kind=_Takes)
goes = partial(open_backend, "broken", Blocks, kind=_Goes)
