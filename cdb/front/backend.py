"""The faces of a backend: what keeps blocks and coins behind a Store.

A PackedBackend takes and gives many blocks, or coins, in a call. A Backend takes a block at a time,
as objects; a Store makes a PackedBackend of it.

Neither knows anything of locks, closing, failed writes, late refusals or fork(): the Store sees to
these. Files are the backend's own. It raises StorageError where the system refuses
(cdb.errors.storage_errors), and CorruptDatabaseError for damage, instead of any wrong answer. What
a write raises (accept, add, commit, settle, rewind, finish) is final: nothing but close() is called
after it, so nothing need be undone. Opened read_only, these are never called.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from cdb.contract.blocks import BlockSpendInfo, NamedBlock
from cdb.contract.coin_query import CoinQuery
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.contract.facts import Facts
from cdb.contract.history import Page
from cdb.contract.packed import Packed, PackedBlocks


class AnyBackend(Protocol):
    """What either backend has. Block indices come as -1 … 2^32."""

    @property
    def newest_index(self) -> int | None:
        """The index of the newest block that was accepted; None where there is none."""
        ...

    def commit(self) -> None:
        """Return when all that was accepted is as durable as the database was opened for.

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

    def close(self) -> None:
        """Release files, threads and memory. It writes nothing, and may be called again."""
        ...


class PackedBackend(AnyBackend, Protocol):
    """Keeps blocks and coins, in packs.

    reads_beside: reads come from any number of threads, also beside a write: each finds one state,
    committed or not, and raises DatabaseClosedError where it is closed meanwhile. Where it is
    False, one call comes at a time, whatever it is; only iterators that were given out go on
    beside, and they are asked for when all is committed.
    """

    reads_beside: bool

    def accept(self, blocks: PackedBlocks, /, *, may_defer: bool) -> PackedBlocks | None:
        """Add blocks in order. None where all were; else the one that breaks a rule, or is not
        canonical: those before it were accepted, and of it and those after it nothing was.

        Their buffers agree (PackedBlocks.checked()), and names are believed. may_defer: it may be
        left to others to find that block; see DeferringBackend.
        """
        ...

    def find(self, names: bytes | memoryview, /) -> tuple[bytearray, bytearray]:
        """An info for each name, and whether there is such a coin; see cdb.contract.packed."""
        ...

    def read(self, first: int, last: int, entries: int, /) -> Iterator[PackedBlocks]:
        """The blocks first … last as of this call, about so many coins and spends at a time, or
        fewer. Their names may be left out: then they are empty. Damage is raised behind the last
        block before it."""
        ...

    def finish(self) -> None:
        """Commit, and leave nothing to do for the next opening. Only close() comes after it."""
        ...


class SettlingBackend(PackedBackend, Protocol):
    """Owes compaction."""

    def settle(self) -> None:
        """Commit, and do all the compaction that is owed, durably."""
        ...


class TellingBackend(PackedBackend, Protocol):
    """Knows how many coins it holds."""

    def facts(self) -> Facts:
        """See TellsFacts."""
        ...


class KeyedBackend(PackedBackend, Protocol):
    """Finds coins by other keys than their names."""

    def ask(self, query: CoinQuery, /) -> Packed:
        """See QueriesPacked; the query is checked."""
        ...


class AsOfBackend(PackedBackend, Protocol):
    """Looks coins up as of a height."""

    def find_as_of(self, names: bytes | memoryview, height: int, /) -> tuple[bytearray, bytearray]:
        """find() as of a height."""
        ...


class HistoryBackend(AsOfBackend, Protocol):
    """Gives coins as of a height: iterators are of the moment of their call, whatever comes."""

    def state_at(self, height: int, /, *, only_unspent: bool) -> Iterator[Page]:
        """All coins as of a height, or those that are unspent then."""
        ...

    def versions(self, first: int, last: int, /) -> Iterator[Page]:
        """What each of the blocks first … last has made of coins: by height, then by name."""
        ...


class StateReader(Protocol):
    """Goes over the coins of blocks that are kept for it, as they are at each step."""

    def next_coins(self) -> int:
        """Read on; how many blocks were read, 0 at the end."""
        ...

    def states(self, height: int, /, *, only_unspent: bool) -> Page:
        """The coins that these blocks confirm, as of a height. only_unspent: most of the spent ones
        are left out."""
        ...


class PresentBackend(AsOfBackend, Protocol):
    """Of a coin it knows what it is now, and answers as of a height by the mask: the Store keeps
    what a snapshot needs beyond that (cdb.front.snapshots)."""

    def read_states(self, first: int, last: int, /) -> StateReader:
        """Reads the coins of the blocks first … last as of this call."""
        ...


class DeferringBackend(PackedBackend, Protocol):
    """May accept a block that breaks a rule, and find that later, with those of many others.

    Reads raise UnverifiedError as long as there is something to verify.
    """

    is_verified: bool
    """Whether verify_spends() has nothing to do; for the one who writes."""

    def verify_spends(self) -> PackedBlocks | None:
        """Verify what was accepted so. The first block that breaks a rule, which is gone, and
        those after it."""
        ...

    def verify(self) -> None:
        """The same for one who reads: the next accept() or verify_spends() tells of the block."""
        ...

    def begin_commit(self) -> PackedBlocks | None:
        """Begin to verify and commit what was accepted so far. What was begun before is ended
        first: see end_commit()."""
        ...

    def end_commit(self) -> PackedBlocks | None:
        """Return when what was begun is committed; or the first block that breaks a rule, which is
        gone, and those after it. commit(), rewind() and finish() end it, too."""
        ...

    def await_verified(self, most_milliseconds: int, /) -> bool:
        """Wait for the one who writes to verify, for so long at most. Whether anybody writes."""
        ...


class Backend(AnyBackend, Protocol):
    """Keeps blocks and coins, one block at a time, and finds them again.

    One call comes at a time, from any thread; only iterations of blocks() go on beside others. All
    that comes in is checked: blocks are canonical and follow the newest one, names have 32 bytes.
    """

    def find(self, names: Sequence[bytes32], /) -> Sequence[CoinInfo | None]:
        """The coin of each name, in their order, and None where there is none.

        As of the newest block that was added, committed or not.
        """
        ...

    def add(self, block: NamedBlock, /) -> None:
        """Take a block that breaks no rule."""
        ...

    def blocks(self) -> Iterator[BlockSpendInfo]:
        """Each block in order, lazily, and as of now, whatever is added or dropped meanwhile.

        All of them are committed, unless the backend was opened read_only.
        """
        ...


class BackendFactory(Protocol):
    """Opens a backend: a class that is one, or a function."""

    def __call__(
        self, path: Path, /, *, durability: Durability, read_only: bool
    ) -> Backend | PackedBackend:
        """Open what is in this directory, or make it where it is missing.

        path: absolute, and there; on Linux it leads to this directory through a descriptor, also
        where it is moved, and until the backend is closed. A DatabaseError names where that was. No
        other writer is in it, nor comes. read_only: a writer may be at work; not a byte changes,
        and what is missing is a DatabaseNotFoundError. All that the backend then shows is of one
        moment.
        """
        ...
