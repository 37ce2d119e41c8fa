"""Makes a PackedBackend of a Backend, which takes blocks, and looks coins up, as objects."""

from collections.abc import Iterator
from struct import iter_unpack

from cdb.contract.coins import CoinInfo, bytes32_unchecked
from cdb.contract.packed import (
    MOST_ENTRIES,
    Fields,
    PackedBlocks,
    in_packs,
    pack_unnamed,
    packed_infos,
)
from cdb.contract.packed_state import first_not_canonical
from cdb.contract.rules import LookedUp, named_block
from cdb.errors import BlockError
from cdb.front.backend import Backend


class BlockByBlock:
    """See PackedBackend for the methods."""

    reads_beside = False

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.commit = self.finish = backend.commit
        self.rewind = backend.rewind
        self.block = backend.block
        self.close = backend.close

    @property
    def newest_index(self) -> int | None:
        """See PackedBackend."""
        return self._backend.newest_index

    def accept(self, blocks: PackedBlocks, *, may_defer: bool) -> PackedBlocks | None:
        """See PackedBackend. No refusal is deferred."""
        bad, known = first_not_canonical(blocks), LookedUp(self.find)
        for place in range(len(blocks)):
            try:
                block = named_block(blocks.block(place), self._backend.newest_index, known)
            except BlockError:
                bad = place
            if place == bad:
                return blocks.part(place, place + 1)
            self._backend.add(block)
        return None

    def find(self, names: bytes | memoryview) -> tuple[bytearray, bytearray]:
        """See PackedBackend."""
        each = [bytes32_unchecked(name) for (name,) in iter_unpack("32s", names)]
        return packed_infos(map(_fields, self._backend.find(each)))

    def read(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """See PackedBackend."""
        wanted = range(first, last + 1)
        blocks = (block for block in self._backend.blocks() if block.index in wanted)
        return in_packs((pack_unnamed([block]) for block in blocks), min(entries, MOST_ENTRIES))


def _fields(info: CoinInfo | None) -> Fields | None:
    if info is None:
        return None
    coin = info.coin
    indices = info.confirmed_index, info.spent_index
    return coin.parent_coin_name, coin.puzzle_hash, coin.amount, *indices
