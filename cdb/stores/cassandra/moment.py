"""A chain as of one state: all that it reads is of that moment, whatever is written meanwhile."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from struct import iter_unpack

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coins import NAME_BYTES
from cdb.contract.history import ABOVE_ALL, PAGE_ROWS, Page, cut, mask, unspent_pages
from cdb.contract.packed import (
    CONFIRM_BYTES,
    Fields,
    PackedBlocks,
    in_packs,
    packed_infos,
)
from cdb.contract.packed_state import names_of, with_names
from cdb.contract.versions import version_pages
from cdb.errors import CorruptDatabaseError
from cdb.stores.cassandra.rows import (
    BORN,
    HEADS,
    MARK,
    SPENT_BYTES,
    Head,
    heads_key,
    parts_key,
    unpacked_index,
)
from cdb.stores.cassandra.state import State
from cdb.stores.cassandra.tables import Tables

AHEAD_BYTES = 4 << 20
"""Of blocks that are read at a time."""
MOST_KNOWN = 256
"""Groups of heads that are kept: 22 MB."""


class Moment:
    """See PackedBackend and HistoryBackend for the methods; any threads may call them.

    url: what errors name.
    """

    def __init__(self, url: str, tables: Tables, state: State) -> None:
        self.state = state
        self._url = url
        self._tables = tables
        self._heads: dict[int, list[tuple[int, Head]]] = {}  # whole groups, by their number

    def grown(self, state: State) -> "Moment":
        """The moment of a state that goes on from this one: what is known of blocks stays true."""
        later = Moment(self._url, self._tables, state)
        later._heads = self._heads
        return later

    def find(
        self, names: bytes | memoryview, height: int = ABOVE_ALL
    ) -> tuple[bytearray, bytearray]:
        """See PackedBackend; as of a height."""
        each = [name for (name,) in iter_unpack("32s", names)]
        found, _ = self.coins(dict.fromkeys(each), height)
        return packed_infos([found.get(name) for name in each])

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """See PackedBackend."""
        number = self.blocks_up_to(block_index - 1)
        found = self._blocks(number, block_index)
        return next((block.block(0) for block in found), None)

    def read(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """See PackedBackend: without names."""
        if first > min(last, self.state.view.newest):
            return iter(())
        number = self.blocks_up_to(first - 1) if first > 0 else 0
        return in_packs(self._blocks(number, last), entries)

    def state_at(self, height: int, *, only_unspent: bool) -> Iterator[Page]:
        """See HistoryBackend: by creation."""
        blocks = map(with_names, self.read(0, height, PAGE_ROWS))
        pages = (page for packed in blocks for page in cut(self._states(packed, height)))
        return unspent_pages(pages) if only_unspent else pages

    def versions(self, first: int, last: int) -> Iterator[Page]:
        """See HistoryBackend."""
        blocks = map(with_names, self.read(first, last, PAGE_ROWS))
        return version_pages(self._url, self._find_as_of, blocks)

    def blocks_up_to(self, block_index: int) -> int:
        """How many blocks have an index ≤ block_index."""
        if block_index >= self.state.view.newest:
            return self.state.blocks
        low, high = 0, (self.state.blocks - 1) // HEADS + 1  # groups; low's first is not above
        while high - low > 1:
            middle = (low + high) // 2
            if self._group(middle)[0][1].index <= block_index:
                low = middle
            else:
                high = middle
        heads = self._group(low)
        return HEADS * low + sum(head.index <= block_index for _, head in heads)

    def head(self, number: int) -> Head:
        """Of the block with this number."""
        return self._group(number // HEADS)[number % HEADS][1]

    def damaged(self, problem: str) -> CorruptDatabaseError:
        """What to raise."""
        return CorruptDatabaseError(self._url, problem)

    def _group(self, group: int) -> Sequence[tuple[int, Head]]:
        """The heads of blocks whose numbers begin at HEADS * group, each with its run."""
        known = self._heads.get(group)
        if known is not None:
            return known
        first = HEADS * group
        heads = dict(self._counting_heads(first))
        numbers = range(first, min(first + HEADS, self.state.blocks))
        missing = next((number for number in numbers if number not in heads), None)
        if missing is not None:
            raise self.damaged(f"block number {missing} is missing")
        found = [heads[number] for number in numbers]
        if len(found) == HEADS:
            if len(self._heads) >= MOST_KNOWN:
                self._heads.clear()
            self._heads[group] = found
        return found

    def _counting_heads(self, first: int) -> Iterator[tuple[int, tuple[int, Head]]]:
        view = self.state.view
        for number, run, packed in self._tables.heads(heads_key(self.state.chain, first)):
            try:
                head = Head.unpacked(packed)
            except ValueError as error:
                raise self.damaged(f"the head of block number {number}: {error}") from error
            if view.has(head.index, run):
                yield number, (run, head)

    def _numbered(self, number: int, last: int) -> Iterator[tuple[int, int, Head]]:
        """The blocks from a number on, up to an index: number, run and head."""
        while number < self.state.blocks:
            group = number // HEADS
            for run, head in islice(self._group(group), number % HEADS, None):
                if head.index > last:
                    return
                yield number, run, head
                number += 1

    def _blocks(self, number: int, last: int) -> Iterator[PackedBlocks]:
        """The blocks from a number on, up to an index, one by one and without names."""
        some: list[tuple[int, int, Head]] = []
        size = 0
        for each in self._numbered(number, last):
            some.append(each)
            size += each[2].size_bytes
            if size >= AHEAD_BYTES or len(some) == HEADS:
                yield from self._read(some)
                some, size = [], 0
        yield from self._read(some)

    def _read(self, some: Sequence[tuple[int, int, Head]]) -> Iterator[PackedBlocks]:
        keys = [
            (parts_key(self.state.chain, number, run), head.n_parts) for number, run, head in some
        ]
        for (_, _, head), parts in zip(some, self._tables.parts(keys), strict=True):
            try:
                yield head.block(parts)
            except ValueError as error:
                raise self.damaged(f"block {head.index}: {error}") from error

    def coins(
        self, names: Iterable[bytes], height: int = ABOVE_ALL
    ) -> tuple[dict[bytes, Fields], set[bytes]]:
        """Those of the coins that are there as of a height, and the names that have a mark: see
        cdb.stores.cassandra.known."""
        chain, view = self.state.chain, self.state.view.as_of(height)
        born: dict[bytes, bytes] = {}
        spent: dict[bytes, int] = {}
        marked: set[bytes] = set()
        for key, run, coin, spend in self._tables.coins([chain + name for name in names]):
            name = key[len(chain) :]
            if run == MARK:
                marked.add(name)
            elif coin is None and spend is None:
                raise self.damaged(f"coin {name.hex()} has a row with nothing in it")
            if coin is not None and view.has(self._index(name, coin, BORN.size), run):
                born[name] = coin
            if spend is not None and view.has(self._index(name, spend, SPENT_BYTES), run):
                spent[name] = unpacked_index(spend)
        self._check(born, spent)
        coins = {name: (*BORN.unpack(coin), spent.get(name, 0)) for name, coin in born.items()}
        return coins, marked

    def _index(self, name: bytes, packed: bytes, size: int) -> int:
        """The index that a cell ends with. Held against its size before that is believed: it tells
        whether the row counts."""
        if len(packed) != size:
            raise self.damaged(f"coin {name.hex()} has {len(packed)} bytes, not {size}")
        return unpacked_index(packed)

    def _check(self, born: dict[bytes, bytes], spent: dict[bytes, int]) -> None:
        """Raise CorruptDatabaseError unless each coin hashes to its name, and was there before it
        was spent."""
        named = names_of(b"".join([coin[:CONFIRM_BYTES] for coin in born.values()]))
        if named != b"".join(born):
            places = range(0, len(named), NAME_BYTES)
            pairs = zip(born, (named[at : at + NAME_BYTES] for at in places), strict=True)
            name = next(name for name, other in pairs if name != other)
            raise self.damaged(f"coin {name.hex()} is another one")
        for name, index in spent.items():
            if name not in born:
                raise self.damaged(f"coin {name.hex()} is spent, and its confirmation is missing")
            if index < unpacked_index(born[name]):
                raise self.damaged(f"coin {name.hex()} is spent before it is confirmed")

    def _states(self, packed: PackedBlocks, height: int) -> Page:
        """The coins of some blocks as of a height."""
        infos, found = self.find(packed.names, height)
        if 0 in found:
            at = NAME_BYTES * found.index(0)
            name = bytes(packed.names[at : at + NAME_BYTES])
            raise self.damaged(f"coin {name.hex()} is missing, which a block confirms")
        return Page(packed.names, infos)

    def _find_as_of(self, names: bytes, heights: Sequence[int]) -> tuple[bytearray, bytearray]:
        answer = self.find(names)
        mask(*answer, heights)
        return answer
