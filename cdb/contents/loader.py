"""Loads blocks into a schema: goes on where the database ends, and knows how far it came."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.packed import PackedBlocks
from cdb.contract.schema import FlushesBeside, Schema, offer_of
from cdb.errors import BlockError, ChainMismatchError

DEFAULT_FLUSH_COINS = 50_000


@dataclass(slots=True)
class LoadProgress:
    """What a load has done so far. The indices are of the newest block accepted and flushed."""

    blocks: int = 0
    coins: int = 0
    spends: int = 0
    accepted_index: int | None = None
    flushed_index: int | None = None


class Loader:
    """Feeds blocks to one schema.

    They come packed; a schema that offers accept_packed gets them so, any other one by one. One
    that flushes beside accepts what comes next meanwhile: what is flushed lies a flush behind.
    uninterrupted: wraps what must not be broken off in the middle.
    """

    def __init__(
        self,
        schema: Schema,
        *,
        flush_coins: int = DEFAULT_FLUSH_COINS,
        uninterrupted: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._schema = schema
        self._accept = acceptor(schema)
        self._beside = offer_of(schema).flushes_beside
        self._flush_coins = flush_coins
        self._uninterrupted = uninterrupted
        newest = schema.last_block_index
        self.progress = LoadProgress(accepted_index=newest, flushed_index=newest)
        self._begun_index = newest
        self._unflushed_coins = 0

    def load(self, packs: Iterable[PackedBlocks]) -> Iterator[LoadProgress]:
        """Accept the blocks that come after the newest one; flush where it is due, and at the end.

        Yields after each step. Raises ChainMismatchError when the blocks are not those that the
        database holds already, and whatever the source or the schema raises; flush() then keeps
        what came before.
        """
        for packed in packs_after(self._schema, packs):
            done = 0
            while done < len(packed):
                with self._uninterrupted():
                    done = self._accept_until_flush(packed, done)
                yield self.progress
        self.flush()

    def flush(self) -> None:
        """Flush what was accepted. Raises a BlockError when the schema had put a refusal off."""
        with self._uninterrupted():
            self._begin(self._schema.flush)
            self.progress.flushed_index = self._begun_index

    def flush_beside(self, beside: FlushesBeside) -> None:
        """Begin to flush what was accepted, once what was begun before is flushed."""
        with self._uninterrupted():
            self._call(beside.end_flush)
            self.progress.flushed_index = self._begun_index
            self._begin(beside.begin_flush)

    def _begin(self, flush: Callable[[], None]) -> None:
        self._call(flush)
        self._begun_index = self.progress.accepted_index
        self._unflushed_coins = 0

    def _call(self, flush: Callable[[], None]) -> None:
        try:
            flush()
        except BlockError:
            self.progress.accepted_index = self._schema.last_block_index
            raise

    def _accept_until_flush(self, packed: PackedBlocks, done: int) -> int:
        """Accept blocks from a place on until a flush is due, and flush. Returns the next place."""
        coins_done = packed.confirm_ends[done - 1] if done else 0
        wanted = coins_done + max(self._flush_coins - self._unflushed_coins, 0)
        due = bisect_left(packed.confirm_ends, wanted, done)
        end = min(due + 1, len(packed))
        part = packed.part(done, end)
        try:
            self._accept(part)
        finally:
            self._count(part)
        if self._unflushed_coins >= self._flush_coins:
            self.flush() if self._beside is None else self.flush_beside(self._beside)
        return end

    def _count(self, packed: PackedBlocks) -> None:
        """Count what the schema has accepted of these blocks."""
        newest = self._schema.last_block_index
        self.progress.accepted_index = newest
        accepted = 0 if newest is None else bisect_right(packed.indices, newest)
        if accepted == 0:
            return
        self.progress.blocks += accepted
        self.progress.coins += packed.confirm_ends[accepted - 1]
        self.progress.spends += packed.spend_ends[accepted - 1]
        self._unflushed_coins += packed.confirm_ends[accepted - 1]


def acceptor(schema: Schema) -> Callable[[PackedBlocks], None]:
    """What accepts packs: the schema itself where it takes them, or else its accept_block."""
    packed = offer_of(schema).accepts_packed
    return partial(_accept_one_by_one, schema) if packed is None else packed.accept_packed


def accept(schema: Schema, packed: PackedBlocks) -> None:
    """Accept one pack."""
    acceptor(schema)(packed)


def _accept_one_by_one(schema: Schema, packed: PackedBlocks) -> None:
    for place in range(len(packed)):
        schema.accept_block(packed.block(place))


def packs_after(schema: Schema, packs: Iterable[PackedBlocks]) -> Iterator[PackedBlocks]:
    """The blocks above the schema's newest one, once the last of the others is the schema's own."""
    newest = schema.last_block_index
    if newest is None:
        yield from packs
        return
    last_known: BlockSpendInfo | None = None
    checked = False
    for packed in packs:
        known = bisect_right(packed.indices, newest)
        if known:
            last_known = packed.block(known - 1)
        if known == len(packed):
            continue
        if not checked:
            _check_same_chain(schema, last_known, newest)
            checked = True
        yield packed.part(known, len(packed))
    if not checked and last_known is not None:
        _check_same_chain(schema, last_known, last_known.index)


def _check_same_chain(schema: Schema, block: BlockSpendInfo | None, index: int) -> None:
    if block is None or block.index != index:
        problem = f"the database's newest block, {index}, is not in the replay"
    elif schema.block_info_for_block_index(index) != block:
        problem = f"block {index} of the replay is not block {index} of the database"
    else:
        return
    raise ChainMismatchError(f"{problem}: these are different chains; load into a new database")
