"""The contract in front of a backend: who writes one writes eight methods, and no locks.

A Backend keeps blocks and coins. The Store in front of it checks each block, makes each call whole,
refuses what comes after the end, after a failed write or in a child made by fork(), and closes
once.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from cdb.contract.blocks import (
    BlockSpendInfo,
    NamedBlock,
    check_against_state,
    checked_index,
    checked_names,
    named_block,
)
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.disk.home import Home
from cdb.disk.paths import located
from cdb.disk.sharing import Shared, file_marks, read_unchanged, reading, whole, writing
from cdb.errors import CorruptDatabaseError


class Backend(Protocol):
    """Keeps blocks and coins, and finds them again.

    One call comes at a time, from any thread; only iterations of blocks() go on beside others. All
    that comes in is checked: blocks are canonical and follow the newest one, names have 32 bytes,
    indices are in -1 … 2^32. What add(), commit() or rewind() raises is final: nothing but close()
    is called after it, so nothing need be undone. With read_only, these three are never called.

    Files are the backend's own, in the directory that its factory was given. Raises StorageError
    where the system refuses (cdb.errors.storage_errors), and CorruptDatabaseError for damage,
    instead of any wrong answer.
    """

    @property
    def newest_index(self) -> int | None:
        """The index of the newest block that was added; None where there is none."""
        ...

    def find(self, names: Sequence[bytes32], /) -> Sequence[CoinInfo | None]:
        """The coin of each name, in their order, and None where there is none.

        As of the newest block that was added, committed or not.
        """
        ...

    def add(self, block: NamedBlock, /) -> None:
        """Take a block that breaks no rule."""
        ...

    def commit(self) -> None:
        """Return when all that was added is as durable as the database was opened for.

        After a crash the blocks of all commits are there, and perhaps more: whole ones, in order.
        """
        ...

    def rewind(self, block_index: int, /) -> None:
        """Drop each block above block_index, in one step that a crash does not halve.

        It was as if they never had been: coins that they spent are unspent. When this returns, all
        that is left is committed. There is a block to drop.
        """
        ...

    def block(self, block_index: int, /) -> BlockSpendInfo | None:
        """The canonical block at an index, the caller's own; None where there is none."""
        ...

    def blocks(self) -> Iterator[BlockSpendInfo]:
        """Each block in order, lazily, and as of now, whatever is added or dropped meanwhile.

        All of them are committed, unless the backend was opened read_only.
        """
        ...

    def close(self) -> None:
        """Release files, threads and memory. It writes nothing, and may be called again."""
        ...


class BackendFactory(Protocol):
    """Opens a backend: a class that is one, or a function."""

    def __call__(self, path: Path, /, *, durability: Durability, read_only: bool) -> Backend:
        """Open what is in this directory, or make it where it is missing.

        path: absolute, and there; on Linux it leads to this directory through a descriptor, also
        where it is moved, and until the backend is closed. A DatabaseError names where that was. No
        other writer is in it, nor comes. read_only: a writer may be at work; not a byte changes,
        and what is missing is a DatabaseNotFoundError. All that the backend then shows is of one
        moment.
        """
        ...


class Store(Shared):
    """A schema over a backend; see cdb.schemas.Schema for the methods.

    path: what errors name. release: called when all is closed, to let the next writer in.

    A subclass may have calls of its own, such as accept_packed(). Each is @reading or @writing
    (cdb.disk.sharing), calls no other call, and changes what is stored within self.guard.write().
    """

    def __init__(
        self,
        path: str | PathLike[str],
        backend: Backend,
        release: Callable[[], None] = lambda: None,
        *,
        read_only: bool,
    ) -> None:
        super().__init__(path, read_only=read_only)
        self._backend = backend
        self._release = release

    @property
    def last_block_index(self) -> int | None:
        """The index of the newest block; None in an empty database."""
        return self._backend.newest_index

    @writing
    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """Add one block, whole or not at all. Raises a BlockError when it is refused."""
        self._accept(block_spend_info)

    @reading
    def flush(self) -> None:
        """Make everything accepted so far as durable as the database was opened for."""
        self._flush()

    def coin_infos_for_coin_names(self, coin_names: Sequence[bytes32]) -> list[CoinInfo]:
        """The coins of these names, in the order asked; unknown names are skipped."""
        return self._infos(checked_names(coin_names))

    @reading
    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """The canonical block at an index; None where no block was accepted."""
        return self._backend.block(checked_index(block_index))

    @writing
    def rewind_to_block_index(self, block_index: int) -> None:
        """Go back, durably, to the state after the last block with an index ≤ block_index."""
        block_index = checked_index(block_index)
        newest = self._backend.newest_index
        if newest is None or block_index >= newest:
            self._flush()
            return
        with self.guard.write():
            self._backend.rewind(block_index)

    @reading
    def blocks(self) -> Iterator[BlockSpendInfo]:
        """Every block in order, lazily, as a snapshot of the moment of this call."""
        self._flush()
        return self.iteration(self._backend.blocks())

    @whole
    def close(self) -> None:
        """Flush, and release the database. A second call releases what the first one could not."""
        if self.guard.disowned:
            return
        is_first = not self.guard.closed
        self.guard.closed = True
        with ExitStack() as stack:
            stack.callback(self._release)
            stack.callback(self._backend.close)
            if is_first and not self.guard.failed and not self.read_only:
                self.guard.check_place()
                self._finish()

    @reading
    def _infos(self, coin_names: Sequence[bytes32]) -> list[CoinInfo]:
        return [info for info in self._backend.find(coin_names) if info is not None]

    def _accept(self, block_spend_info: BlockSpendInfo) -> None:
        block = named_block(block_spend_info, self._backend.newest_index)
        self._check(block)
        with self.guard.write():
            self._backend.add(block)

    def _check(self, block: NamedBlock) -> None:
        """Raise the BlockError for the rule that the block breaks, if it breaks one."""
        n_spends = len(block.outside_spends)
        found = self._backend.find([*block.outside_spends, *block.names])
        spent = [None if info is None else info.spent_index for info in found[:n_spends]]
        check_against_state(block, spent, [info is not None for info in found[n_spends:]])

    def _flush(self) -> None:
        if not self.read_only:
            with self.guard.write():
                self._backend.commit()

    def _finish(self) -> None:
        """Write what a close has to, unless a write has failed."""
        self._backend.commit()


def open_backend(
    schema: str,
    factory: BackendFactory,
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    version: int = 1,
    folder: str = "",
) -> Store:
    """Open or create the database of one schema: a directory with FORMAT, LOCK and the backend's
    files. See cdb.disk.home.Home for the errors.

    schema: its name, of a-z, 0-9 and _, which FORMAT says, and the version of its files: others are
    refused. folder: the one directory that the backend makes in it, if it makes one.
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
        undo.pop_all()
        store = Store(path, backend, home.close, read_only=read_only)
        store.guard.check_place = home.check_in_place
        return store


if TYPE_CHECKING:
    from cdb.contract.schema import Schema

    _keeps: type[Schema] = Store
