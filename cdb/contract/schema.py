"""The contract that every schema keeps, and what one may offer beyond it.

Nothing inherits these Protocols: a schema just has their methods, and offer_of() finds those that
it may have or not. mypy holds a schema to their signatures where it says what it offers, as
cdb.stores.coin_log.schema does at its end; cdb.testing.SchemaConformance holds it to what they
mean.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self, cast, runtime_checkable

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coin_query import MAX_INDEX, CoinQuery
from cdb.contract.coins import CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.contract.facts import Facts
from cdb.contract.packed import Packed, PackedBlocks
from cdb.contract.progress import Progress
from cdb.disk.damage import Damage
from cdb.disk.home import Format


class Schema(Protocol):
    """A coin database.

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
    """A class or a function that opens a database."""

    def __call__(
        self,
        path: str | PathLike[str],
        *,
        durability: Durability = Durability.POWER,
        read_only: bool = False,
    ) -> Schema:
        """Create the database, or open the one that is there.

        With read_only the object shows one moment, that of its opening, as long as it is open. All
        that was flushed by then is there, and perhaps more: whole blocks. It takes no lock, neither
        makes nor changes a byte on disk (but in files that count for nothing, not_durable in
        SchemaSpec), and may be opened beside a writer. What changes something
        (accept_block, accept_packed, rewind_to_block_index, settle) raises UnsupportedError; flush
        does nothing. Where a writer takes away what it shows, as by a rewind, a read may raise
        DatabaseClosedError or StorageError instead, and then one opens it again; it never answers
        for another moment. Where there is no database: DatabaseNotFoundError.
        """
        ...


@runtime_checkable
class AcceptsPacked(Protocol):
    """Takes many blocks at once, without an object a coin."""

    def accept_packed(self, packed_blocks: PackedBlocks, /) -> None:
        """Add blocks in order, as if each were accepted alone: so the spend of a coin that a later
        block of the pack confirms is of an unknown coin.

        Each block must be canonical, and the names those of its confirms. A block that is not
        canonical is a ValueError, and neither it nor those after it are accepted; names are
        believed. Buffers whose lengths don't agree are a ValueError, and nothing has happened.

        At a BlockError, which names the first block that breaks a rule, that one and those after it
        were not accepted, and those before it were. It may be deferred to the next flush, settle,
        look-up, read, rewind or close, which raises it then; the object goes on. What is deferred
        was never promised, and what was promised stays readable.
        """
        ...


@runtime_checkable
class ReadsPacked(Protocol):
    """Gives blocks and coins without an object for each. The buffers are the caller's own."""

    def blocks_packed(self) -> Iterable[PackedBlocks]:
        """The blocks of blocks(), so many at a time as suits the schema, with their names."""
        ...

    def coin_infos_packed(self, coin_names: bytes, /) -> tuple[Packed, Packed]:
        """The coins of names without gaps: an info for each (see cdb.contract.packed), zeros for
        an unknown one, and a byte that is 1 where there is such a coin and 0 elsewhere.

        Raises ValueError for names that are not bytes, or not 32 each.
        """
        ...


@runtime_checkable
class FlushesBeside(Protocol):
    """Flushes in two steps, so that blocks are accepted while the disk works."""

    def begin_flush(self) -> None:
        """Begin to flush what was accepted so far, and end what was begun before.

        Nothing more is promised yet. Raises what flush() raises."""
        ...

    def end_flush(self) -> None:
        """When this returns, all that was accepted before the last begin_flush() is as durable as
        flush() makes it; so it is at the return of a flush(), rewind or close. Raises what flush()
        raises."""
        ...


@runtime_checkable
class Settles(Protocol):
    """Owes compaction after writes, and can do it when it is told to."""

    def settle(self) -> None:
        """Flush, and do all the compaction that is owed, durably. Nothing that can be read
        changes."""
        ...


@runtime_checkable
class IndexedSchema(Protocol):
    """Finds coins by other keys than their names.

    Answers are those that a scan of blocks() with a look-up by name would give at the moment of the
    call, each coin once. Order: by confirmed index, then by name; limit takes the first so many.
    Unknown values are skipped. Raises ValueError for one that has not 32 bytes, and for a negative
    limit.
    """

    def coin_infos_for_puzzle_hashes(
        self,
        puzzle_hashes: list[bytes32],
        *,
        first: int = 0,
        last: int = MAX_INDEX,
        include_spent: bool = True,
        limit: int | None = None,
    ) -> list[CoinInfo]:
        """The coins of these puzzle hashes with first ≤ confirmed index ≤ last."""
        ...

    def coin_infos_for_parents(
        self,
        parent_coin_names: list[bytes32],
        *,
        include_spent: bool = True,
        limit: int | None = None,
    ) -> list[CoinInfo]:
        """The coins of these parents, which need not be coins themselves."""
        ...

    def coin_infos_confirmed_at(self, block_index: int) -> list[CoinInfo]:
        """The coins that the block at an index confirmed; none where there is no block."""
        ...

    def coin_infos_spent_at(self, block_index: int) -> list[CoinInfo]:
        """The coins that the block at an index spent; none where there is no block."""
        ...


@runtime_checkable
class QueriesPacked(Protocol):
    """Does the same without an object for each coin, and with more to choose by."""

    def coins_packed(self, query: CoinQuery, /) -> Packed:
        """The coins that are asked for; see cdb.contract.coin_query. The buffer is the
        caller's own."""
        ...


class HistorySchema(Schema, Protocol):
    """Knows coins as of any height: docs/history.md. Who has none of this has none of the methods.

    Each answer as of a height is the plain answer of a copy that was rewound to it: a coin that
    was confirmed later is absent, and one that was spent later has the spent index 0. No height is
    an error: at or beyond the newest block's, however large, the answer is that of now; below the
    first block's there is nothing. A height that is no integer is a TypeError, at the call.

    The iterators are lazy, in bounded memory, and snapshots of the moment of their call, whatever
    is written while they are read. close() of one lets go of its snapshot, as its end does.
    """

    def coin_infos_as_of(self, coin_names: list[bytes32], height: int) -> list[CoinInfo]:
        """The coins of these names, in the order asked; those that are absent are skipped."""
        ...

    def state_at(self, height: int) -> Iterator[CoinInfo]:
        """Every coin as of a height, each once, spent or not, in the schema's own order, which its
        SchemaSpec tells (history)."""
        ...

    def unspent(self) -> Iterator[CoinInfo]:
        """Every coin that is unspent now, in the order of state_at()."""
        ...

    def versions(self, first: int, last: int) -> Iterator[CoinInfo]:
        """What each block with first ≤ index ≤ last leaves of each coin that it confirms or spends.

        By height, which is the higher one of a version's indices, and then by name.
        """
        ...


@runtime_checkable
class HistoryPacked(Protocol):
    """The same without an object for each coin. A schema with history may have any of them.

    Iterators give the same rows in the same order, in pages of names without gaps and an info for
    each (see cdb.contract.packed): 1 … 4,096 rows, good until the next page is asked for.
    """

    def coin_infos_as_of_packed(self, coin_names: bytes, height: int, /) -> tuple[Packed, Packed]:
        """Infos, and whether they were found, as coin_infos_packed() gives them."""
        ...

    def state_at_packed(self, height: int, /) -> Iterator[tuple[Packed, Packed]]:
        """See HistorySchema.state_at."""
        ...

    def unspent_packed(self) -> Iterator[tuple[Packed, Packed]]:
        """See HistorySchema.unspent."""
        ...

    def versions_packed(self, first: int, last: int, /) -> Iterator[tuple[Packed, Packed]]:
        """See HistorySchema.versions."""
        ...


@runtime_checkable
class TellsFacts(Protocol):
    """Tells `cdb info` what it knows of itself."""

    def facts(self) -> Facts:
        """The facts as of now."""
        ...


@dataclass(frozen=True, slots=True)
class Offer:
    """An open schema as what it offers beyond Schema; None where it doesn't."""

    accepts_packed: AcceptsPacked | None
    reads_packed: ReadsPacked | None
    flushes_beside: FlushesBeside | None
    settles: Settles | None
    indexed: IndexedSchema | None
    queries_packed: QueriesPacked | None
    tells_facts: TellsFacts | None
    history: HistorySchema | None


HISTORY_METHODS = ("coin_infos_as_of", "state_at", "unspent", "versions")
"""The methods of a HistorySchema."""


def offer_of(schema: Schema) -> Offer:
    """What an open schema offers. It takes some 50 µs: ask once, not for each block."""
    has_history = all(callable(getattr(schema, each, None)) for each in HISTORY_METHODS)
    return Offer(
        schema if isinstance(schema, AcceptsPacked) else None,
        schema if isinstance(schema, ReadsPacked) else None,
        schema if isinstance(schema, FlushesBeside) else None,
        schema if isinstance(schema, Settles) else None,
        schema if isinstance(schema, IndexedSchema) else None,
        schema if isinstance(schema, QueriesPacked) else None,
        schema if isinstance(schema, TellsFacts) else None,
        cast(HistorySchema, schema) if has_history else None,
    )


class Check(Protocol):
    """A schema's check: what is wrong with a database's files, also where it can't be
    opened."""

    def __call__(self, path: Path, progress: Progress, /) -> Iterator[Damage]:
        """Read all that can be damaged. It changes no byte.

        Raises DatabaseLockedError beside a writer. A CorruptDatabaseError is damage without repair.
        """
        ...


class Repair(Protocol):
    """A schema's repair: mends what check() has found, all of which is repairable."""

    def __call__(self, path: Path, damages: Sequence[Damage], progress: Progress, /) -> None:
        """Hold the database's lock, and make derived files again; touch no other one.

        After kill -9 the database opens, or can be repaired again.
        """
        ...


class FormatOf(Protocol):
    """A schema's format_of: recognizes a database that has no FORMAT file."""

    def __call__(self, path: Path, /) -> Format | None:
        """The format of the file at a path; None where it is no database of this schema. It changes
        no byte. Raises a DatabaseError where it can't be read."""
        ...
