"""THE store: the contract in front of a backend, which keeps blocks and coins and knows none of it.

A Store checks what comes in, makes each call whole, refuses what comes after the end, after a
failed write or in a child made by fork(), says what is wrong with a refused block, and closes once.

What a reader holds is never written again: what is given to the caller, or to the backend, are
buffers that belong to nobody else, and an iterator is of the moment of its call.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

from cdb.contract.blocks import (
    BlockSpendInfo,
    checked_index,
    in_lists,
)
from cdb.contract.coins import MAX_U32, CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.contract.objects import joined_names, packed_block, unpacked_infos
from cdb.contract.packed import (
    Packed,
    PackedBlocks,
    checked_packed_names,
)
from cdb.contract.packed_state import with_names
from cdb.contract.rules import LookedUp, named_block
from cdb.disk.home import Home
from cdb.disk.paths import located
from cdb.disk.sharing import (
    Shared,
    beside,
    file_marks,
    read_unchanged,
    reading,
    whole,
    writing,
)
from cdb.errors import BlockError, CorruptDatabaseError
from cdb.front.backend import Backend, BackendFactory, PackedBackend
from cdb.front.block_by_block import BlockByBlock

P = ParamSpec("P")
T = TypeVar("T")

READ_ENTRIES = 1_000
PACK_ENTRIES = 50_000
"""For blocks_packed(): who looks up each pack holds a few of them at a time, of some 5 MB each. In
coin_log and LMDB twice as many at once gain nothing."""


class Store(Shared):
    """A schema over a backend; see cdb.schemas.Schema, AcceptsPacked and ReadsPacked for the
    methods. What else a backend offers, cdb.front.offers makes methods of.

    path: what errors name. release: called when all is closed, to let the next writer in.
    check_place: of a writer by its path; raises where that leads elsewhere by now.

    A subclass may have calls of its own. Each is @beside, @reading or @writing (cdb.disk.sharing),
    calls no other call, reads through self._read(), and changes what is stored within
    self.guard.write().
    """

    _backend: PackedBackend

    def __init__(
        self,
        path: str | PathLike[str],
        backend: Backend | PackedBackend,
        release: Callable[[], None] = lambda: None,
        *,
        read_only: bool,
        check_place: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(path, read_only=read_only)
        # Not by isinstance(): that would ask for newest_index, which may raise.
        if hasattr(backend, "accept"):
            self._backend = cast(PackedBackend, backend)
        else:
            self._backend = BlockByBlock(backend)
        self.reads_beside = self._backend.reads_beside
        self._release = release
        if check_place is not None:
            self.guard.check_place = check_place
        self.end_with(self._backend.close, release)

    @property
    def last_block_index(self) -> int | None:
        """The index of the newest block; None in an empty database."""
        if self.guard.disowned:
            self.guard.check()
        return self._backend.newest_index

    @writing
    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """Add one block, whole or not at all. Raises a BlockError when it is refused."""
        block = in_lists(block_spend_info)
        packed = packed_block(block)
        if packed is None:
            self._verify()
            raise self._refusal_of(block)
        self._accept(packed, may_defer=False)

    @writing
    def accept_packed(self, packed_blocks: PackedBlocks) -> None:
        """See AcceptsPacked."""
        self._accept(PackedBlocks.checked(packed_blocks), may_defer=True)

    @reading
    def flush(self) -> None:
        """Make everything accepted so far as durable as the database was opened for."""
        self._flush()

    def coin_infos_for_coin_names(self, coin_names: Sequence[bytes32]) -> list[CoinInfo]:
        """The coins of these names, in the order asked; unknown names are skipped."""
        return unpacked_infos(*self._look_up(joined_names(coin_names)))

    def coin_infos_packed(self, coin_names: Packed) -> tuple[bytearray, bytearray]:
        """See ReadsPacked."""
        return self._look_up(checked_packed_names(coin_names))

    @beside
    def _look_up(self, names: bytes | memoryview) -> tuple[bytearray, bytearray]:
        return self._read(self._backend.find, names)

    @beside
    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """The canonical block at an index; None where no block was accepted."""
        return self._read(self._backend.block, checked_index(block_index))

    @writing
    def rewind_to_block_index(self, block_index: int) -> None:
        """Go back, durably, to the state after the last block with an index ≤ block_index."""
        block_index = checked_index(block_index)
        self._verify()
        newest = self._backend.newest_index
        if newest is None or block_index >= newest:
            self._flush()
            return
        with self.guard.write():
            self._rewind(block_index)

    def blocks(self) -> Iterator[BlockSpendInfo]:
        """Every block in order, lazily, as a snapshot of the moment of this call."""
        packs = self._packs(0, READ_ENTRIES)
        return self.iteration(packed.block(n) for packed in packs for n in range(len(packed)))

    def blocks_packed(self, first_index: int = 0) -> Iterator[PackedBlocks]:
        """The blocks of blocks() from an index on, with names, many coins at a time."""
        return self.iteration(map(_named, self._packs(checked_index(first_index), PACK_ENTRIES)))

    @whole
    def close(self) -> None:
        """Flush, and release the database. A second call releases what the first one could not."""
        if self.guard.disowned:
            return
        try:
            if self.guard.is_fine:
                self._verify()
        finally:
            self._end()

    def _end(self) -> None:
        """Write what a close has to, if it is the first one, and no write has failed; release all.

        It is closed before anything is released: a signal may raise between any two steps.
        """
        is_first, self.guard.closed = not self.guard.closed, True
        with ExitStack() as stack:
            stack.callback(self._release)
            stack.callback(self._backend.close)
            if is_first and not self.guard.failed and not self.read_only:
                self.guard.check_place()
                self._backend.finish()

    def _accept(self, blocks: PackedBlocks, *, may_defer: bool) -> None:
        with self.guard.write():
            refused = self._backend.accept(blocks, may_defer=may_defer)
        if refused is not None:
            raise self._refusal_of(refused.block(0))

    def _refusal_of(self, block: BlockSpendInfo) -> BlockError | ValueError:
        """What is wrong with a refused block, by the rules of all schemas."""
        try:
            named_block(block, self._backend.newest_index, LookedUp(self._backend.find))
        except BlockError as error:
            return error
        return ValueError(f"packed block {block.index} is not in canonical form")

    def _verify(self) -> None:
        """Raise the refusal of a block that was accepted, where a backend defers that."""

    def _read(self, read: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """What a read of the backend gives, once what was accepted is verified."""
        return read(*arguments, **options)

    def _read_verified(self, read: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """The same, and nobody is told of a refusal."""
        return read(*arguments, **options)

    def _flush(self) -> None:
        self._verify()
        if not self.read_only:
            with self.guard.write():
                self._backend.commit()

    def _rewind(self, block_index: int) -> None:
        self._backend.rewind(block_index)

    @beside
    def _packs(self, first: int, entries: int) -> Iterator[PackedBlocks]:
        """The blocks of now from an index on, in packs of about so many coins and spends."""
        return self._iterate(self._backend.read, first, MAX_U32, entries)

    def _iterate(
        self, read: Callable[P, Iterator[T]], *arguments: P.args, **options: P.kwargs
    ) -> Iterator[T]:
        """Within a call: what is read step by step from now on."""
        if not self.reads_beside:
            self._flush()
        return self._steps(self._read(read, *arguments, **options))

    def _steps(self, items: Iterator[T]) -> Iterator[T]:
        """The items of a backend's iterator. Each step is a call where reads go on beside, and of a
        reader: its iterators and look-ups may share what they read from."""
        is_called = self.reads_beside or self.read_only
        return iter(partial(self._next_of, items), None) if is_called else self._kept(items)

    def _kept(self, items: Iterator[T]) -> Iterator[T]:
        """The items, of a store that does not end before they do."""
        yield from items

    @beside
    def _next_of(self, items: Iterator[T]) -> T | None:
        return next(items, None)


def _named(blocks: PackedBlocks) -> PackedBlocks:
    return blocks if len(blocks.names) else with_names(blocks)


def open_backend(
    schema: str,
    factory: BackendFactory,
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    version: int = 1,
    folder: str = "",
    kind: type[Store] = Store,
) -> Store:
    """Open or create the database of one schema: a directory with FORMAT, LOCK and the backend's
    files. See cdb.disk.home.Home for the errors.

    schema: its name, of a-z, 0-9 and _, which FORMAT says, and the version of its files: others are
    refused. folder: the one directory that the backend makes in it, if it makes one. kind: a Store
    with what the backend offers.
    """
    path = located(path, read_only=read_only)
    with ExitStack() as undo:
        home = Home(path, schema, version, read_only=read_only, folder=folder)
        undo.callback(home.close)
        open_it = partial(factory, home.inside, durability=durability, read_only=read_only)
        if read_only:
            # What a writer removes or replaces meanwhile looks like damage.
            marks = partial(file_marks, home.inside / folder)
            backend = read_unchanged(open_it, marks, CorruptDatabaseError)
        else:
            backend = open_it()
        undo.callback(backend.close)
        place = home.check_in_place
        store = kind(path, backend, home.close, read_only=read_only, check_place=place)
        undo.pop_all()
        return store


if TYPE_CHECKING:
    from cdb.contract.schema import AcceptsPacked, ReadsPacked, Schema

    _keeps: type[Schema] = Store
    _accepts: type[AcceptsPacked] = Store
    _reads: type[ReadsPacked] = Store
