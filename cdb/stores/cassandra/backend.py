"""What writes a chain into a cluster: rows first, and then the state that makes them count.

Who writes is alone in a run, and writes each row of it once: see cdb.stores.cassandra.state. What a
writer has not made count when it ends, of its own will or not, never does.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from struct import iter_unpack

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coin_query import CoinQuery
from cdb.contract.coins import MAX_U32
from cdb.contract.facts import Facts
from cdb.contract.history import Page
from cdb.contract.packed import CONFIRM_BYTES, PackedBlocks, for_each
from cdb.contract.packed_state import accept_in_order, with_names
from cdb.contract.progress import Progress
from cdb.contract.rules import Joined, examine, join
from cdb.contract.secondary_keys import PUZZLE_HASH
from cdb.stores.cassandra.known import Known
from cdb.stores.cassandra.moment import Moment
from cdb.stores.cassandra.queries import ask, keyed_rows
from cdb.stores.cassandra.rows import (
    MARK,
    Head,
    Row,
    Table,
    heads_key,
    packed_index,
    parts_key,
    parts_of,
)
from cdb.stores.cassandra.state import NO_PEAK, State
from cdb.stores.cassandra.tables import Tables

KEYED_ENTRIES = 10_000
"""Of blocks that get secondary keys at a time."""


class Chain:
    """See HistoryBackend, KeyedBackend and TellingBackend for the methods. An accept is a commit.

    url: what errors name. state: that of the cluster, which a writer has taken over.
    """

    reads_beside = True

    def __init__(self, url: str, tables: Tables, state: State) -> None:
        self._url = url
        self._tables = tables
        self._now = Moment(url, tables, state)

    @property
    def newest_index(self) -> int | None:
        """See PackedBackend."""
        return self._now.state.newest_index

    @property
    def has_keys(self) -> bool:
        """Whether it finds coins by secondary keys."""
        return bool(self._now.state.keys)

    def accept(self, blocks: PackedBlocks, *, may_defer: bool) -> PackedBlocks | None:
        """See PackedBackend. No refusal is deferred."""
        return accept_in_order(blocks, self._append)

    def commit(self) -> None:
        """See PackedBackend: all that was accepted is committed."""

    finish = commit

    def rewind(self, block_index: int) -> None:
        """See PackedBackend: one change of the state."""
        now = self._now
        kept = now.blocks_up_to(block_index)
        newest, coins = NO_PEAK, 0
        if kept:
            head = now.head(kept - 1)
            newest, coins = head.index, head.first_coin + head.n_confirms
        self._change(now.state.cut(kept, coins, newest))
        self._now = Moment(self._url, self._tables, self._now.state)

    def find(self, names: bytes | memoryview) -> tuple[bytearray, bytearray]:
        """See PackedBackend."""
        return self._now.find(names)

    def find_as_of(self, names: bytes | memoryview, height: int) -> tuple[bytearray, bytearray]:
        """See AsOfBackend."""
        return self._now.find(names, height)

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """See PackedBackend."""
        return self._now.block(block_index)

    def read(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """See PackedBackend."""
        return self._now.read(first, last, entries)

    def state_at(self, height: int, *, only_unspent: bool) -> Iterator[Page]:
        """See HistoryBackend: by creation."""
        return self._now.state_at(height, only_unspent=only_unspent)

    def versions(self, first: int, last: int) -> Iterator[Page]:
        """See HistoryBackend."""
        return self._now.versions(first, last)

    def ask(self, query: CoinQuery) -> bytes:
        """See KeyedBackend."""
        return ask(self._now, self._tables, query)

    def facts(self) -> Facts:
        """See TellingBackend."""
        return Facts(self._now.state.coins, is_settled=True)

    def add_keys(self, progress: Progress) -> None:
        """Have secondary keys from now on: of what is there, too."""
        state = self._now.state
        for blocks in map(with_names, self._now.read(0, MAX_U32, KEYED_ENTRIES)):
            self._tables.write({Table.KEYED: [*keyed_rows(state.chain, blocks)]})
            progress(blocks.n_confirms)
        self._change(state.with_keys(PUZZLE_HASH))

    def close(self) -> None:
        """See PackedBackend."""
        self._tables.close()

    def _append(self, blocks: PackedBlocks) -> bool:
        """Add and commit all of the blocks; or none, and return False, where one breaks a rule."""
        joined = join(blocks, self.newest_index)
        faults, _ = examine(joined, Known(self._now))
        if faults:
            return False
        state = self._now.state
        self._tables.write(_rows(state, blocks, joined))
        self._change(state.grown(blocks.indices, blocks.n_confirms))
        return True

    def _change(self, state: State) -> None:
        self._tables.change(self._now.state, state)
        self._now = self._now.grown(state)


def _rows(state: State, blocks: PackedBlocks, joined: Joined) -> Mapping[Table, Sequence[Row]]:
    """The rows of blocks that come after a state."""
    rows: dict[Table, list[Row]] = defaultdict(list)
    chain, run = state.chain, state.run
    spent_by = dict(zip(joined.spends, for_each(blocks.indices, blocks.spend_ends), strict=True))
    confirms = (confirm for (confirm,) in iter_unpack(f"{CONFIRM_BYTES}s", blocks.confirms))
    indices = for_each(blocks.indices, blocks.confirm_ends)
    for name, confirm, index in zip(joined.names, confirms, indices, strict=True):
        born = confirm + packed_index(index)
        spender = spent_by.get(name)
        if spender is None:
            rows[Table.COIN].append((chain + name, run, born))
        else:
            rows[Table.SPENT_COIN].append((chain + name, run, born, packed_index(spender)))
    for name in joined.outside_spends:
        rows[Table.SPEND].append((chain + name, run, packed_index(spent_by[name])))
    rows[Table.MARK] = [(chain + parent, MARK) for parent in {*joined.early_parents}]
    first_coin = state.coins
    for place in range(len(blocks)):
        block, number = blocks.part(place, place + 1), state.blocks + place
        head = Head.of(block, first_coin)
        first_coin += head.n_confirms
        rows[Table.HEAD].append((heads_key(chain, number), number, run, head.packed()))
        key = parts_key(chain, number, run)
        rows[Table.PART] += [(key, part, data) for part, data in enumerate(parts_of(block))]
    if state.keys:
        rows[Table.KEYED] += keyed_rows(chain, blocks)
    return rows
