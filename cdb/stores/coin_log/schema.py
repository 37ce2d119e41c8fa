"""The coin log as a schema: its openings, its calls, and what is held against its files."""

from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from cdb.contract.blocks import (
    BlockSpendInfo,
    checked_index,
    checked_names,
    named_block,
    with_plain_fields,
)
from cdb.contract.coin_query import CoinQuery
from cdb.contract.coins import MAX_U32, NAME_BYTES, CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.contract.facts import Facts
from cdb.contract.history import ABOVE_ALL, PackedHistory, Page, checked_height
from cdb.contract.packed import (
    AMOUNT_BYTES,
    Packed,
    PackedBlocks,
    check_by_lookup,
    checked_packed_names,
    unpacked_infos,
)
from cdb.contract.progress import Progress
from cdb.contract.secondary_keys import EXTRAS, PUZZLE_HASH, Indexed, extra_for, how_to_index
from cdb.disk.damage import Damage
from cdb.disk.home import Home, checked_home, extra_at, format_at, repaired_home
from cdb.disk.paths import located, read_own
from cdb.disk.sharing import beside, read_unchanged, reading, whole, writing
from cdb.errors import (
    BlockError,
    CorruptDatabaseError,
    DatabaseClosedError,
    StorageError,
    WrongDatabaseError,
    storage_errors,
)
from cdb.extensions.native import UnverifiedError
from cdb.front.snapshots import HistorySnapshot, HistorySnapshots, cut, unspent_pages, version_pages
from cdb.stores.coin_log.binding import (
    DEFAULT_SIZES,
    CoinLog,
    Reader,
    Sizes,
    has_keys,
    load,
    names_of,
)
from cdb.stores.coin_log.check import (
    ACKED,
    DERIVED,
    MANIFEST,
    check_coin_log,
    rebuild_derived,
)

P = ParamSpec("P")
T = TypeVar("T")

FORMAT_VERSION = 2
_here = local()
"""What tells threads apart: numbers of those that have ended are given to others."""
_WAIT_MILLISECONDS = 100
"""For a writer to verify something. It does so at the end of its call, which may take longer."""


class CoinLogSchema(PackedHistory):
    """Keeps the coin set in a coin log; see cdb.schemas.Schema for the methods. As of a height it
    answers by the mask (cdb.contract.history); states come by creation.

    Reads from any number of threads go on beside the writer: they wait for no sync and no merge.
    Opened read_only it shows the state of its opening, also while another process writes, and where
    its directory is moved or removed. When that one rewinds, or others overwrite its files, reads
    raise DatabaseClosedError, and opening it again helps. Of a damaged log the blocks before the
    first damage can be read so; anything else raises CorruptDatabaseError.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        durability: Durability = Durability.POWER,
        read_only: bool = False,
        sizes: Sizes = DEFAULT_SIZES,
        index: str = "",
        progress: Progress | None = None,
    ) -> None:
        load()
        extra = extra_for("coin_log", index)
        self._path = located(path, read_only=read_only)
        super().__init__(self._path, read_only=read_only)
        self._damage: CorruptDatabaseError | None = None
        self._owed: BlockError | ValueError | None = None  # what the writer has to be told
        self._snapshots = HistorySnapshots(self._path)
        self._writer = object()  # what the thread of the last accept_packed has in _here
        with ExitStack() as undo:
            self._home = Home(
                self._path,
                "coin_log",
                FORMAT_VERSION,
                read_only=read_only,
                folder=DERIVED,
                extras=EXTRAS,
                extra=extra,
            )
            undo.callback(self._home.close)
            if extra and not self._home.extra:
                advice = how_to_index("coin_log", self._path)
                raise WrongDatabaseError(self._path, f"it has no index by {index}; {advice}")
            self._log = self._open(durability, sizes, progress)
            self.end_with(partial(self._log.close, abandon=True), self._home.close)
            undo.pop_all()

    @property
    def last_block_index(self) -> int | None:
        """See Schema."""
        if self.guard.disowned:
            self.guard.check()
        self._end_before_damage()
        return self._log.newest_index

    @writing
    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        packed = _packed(with_plain_fields(block_spend_info))
        if packed is None:
            self._verify_spends()
            raise self._refusal_of(block_spend_info)
        self._accept(packed, trusting=False)

    @writing
    def accept_packed(self, packed_blocks: PackedBlocks) -> None:
        """See AcceptsPacked. A spend of an old coin may be verified later, with many others.

        A refusal is deferred until then, or to an accept that makes room or refuses another block.
        Reads in other threads than this one go on without the block: it is the writer who is told.
        """
        if not hasattr(_here, "writer"):
            _here.writer = object()
        self._writer = _here.writer
        self._accept(PackedBlocks.checked(packed_blocks), trusting=True)

    @reading
    def flush(self) -> None:
        """See Schema."""
        self._verify_spends()
        if not self.read_only:
            with self.guard.write():
                self._log.flush()

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        return unpacked_infos(*self.coin_infos_packed(b"".join(checked_names(coin_names))))

    @beside
    def coin_infos_packed(self, coin_names: Packed) -> tuple[bytearray, bytearray]:
        """See ReadsPacked."""
        coin_names = checked_packed_names(coin_names)
        self._end_before_damage()
        return self._read(self._log.lookup, coin_names)

    @beside
    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """See Schema."""
        block_index = checked_index(block_index)
        blocks = self._read(self._log.read, block_index, block_index).next()
        if blocks is None:
            self._end_before_damage(block_index)
        return None if blocks is None else blocks.block(0)

    @beside
    def facts(self) -> Facts:
        """See TellsFacts. What it owes it does by itself."""
        return Facts(coins=self._log.n_coins, is_settled=True)

    @beside
    def count_unspent(self, height: int = ABOVE_ALL) -> int:
        """How many coins are unspent as of a height: it goes over no coins."""
        height = checked_height(height)
        self._end_before_damage()
        return self._read(self._log.count_unspent, height)

    @writing
    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        block_index = checked_index(block_index)
        self._verify_spends()
        with self.guard.write(), self._rewinding(block_index):
            self._log.rewind(block_index)

    def _rewinding(self, block_index: int) -> AbstractContextManager[None]:
        return self._snapshots.rewinding(
            block_index, lambda: self._log.newest_index, self._taken_blocks
        )

    def blocks(self) -> Iterator[BlockSpendInfo]:
        """See Schema."""
        packs = self.blocks_packed()
        return self.iteration(packed.block(n) for packed in packs for n in range(len(packed)))

    @beside
    def blocks_packed(self, first_index: int = 0) -> Iterator[PackedBlocks]:
        """The blocks of blocks() from an index on, a few thousand coins at a time."""
        return self.iteration(self._read_on(self._read(self._log.read, first_index, MAX_U32)))

    def _find_as_of(
        self, coin_names: bytes | memoryview, height: int
    ) -> tuple[bytearray, bytearray]:
        self._end_before_damage()
        return self._read(self._log.lookup, coin_names, height)

    def state_at_packed(self, height: int) -> Iterator[Page]:
        """See HistoryPacked."""
        height = checked_height(height)
        snapshot, reader = self._snapshot(0, height)
        return self.iteration(self._states(snapshot, reader, height, only_unspent=False))

    def unspent_packed(self) -> Iterator[Page]:
        """See HistoryPacked."""
        snapshot, reader = self._snapshot(0, MAX_U32)
        pages = self._states(snapshot, reader, snapshot.newest, only_unspent=True)
        return self.iteration(unspent_pages(pages))

    def versions_packed(self, first: int, last: int) -> Iterator[Page]:
        """See HistoryPacked."""
        first, last = checked_height(first), checked_height(last)
        snapshot, reader = self._snapshot(first, last)
        return self.iteration(version_pages(self._path, snapshot, self._packs_of(reader)))

    @whole
    def close(self) -> None:
        """See Schema."""
        if self.guard.disowned:
            return
        with ExitStack() as stack:
            stack.callback(self._home.close)
            stack.callback(self._end_log)
            if not self.guard.closed and not self.guard.failed:
                self._verify_spends()

    def _end_log(self) -> None:
        self.guard.closed = True
        self._log.close(abandon=self.guard.failed)

    def _open(self, durability: Durability, sizes: Sizes, progress: Progress | None) -> CoinLog:
        open_log = partial(
            CoinLog,
            self._home.inside,
            durability=durability,
            read_only=self.read_only,
            sizes=sizes,
            keys=bool(self._home.extra),
            progress=progress,
        )
        if not self.read_only:
            return open_log()
        try:
            return read_unchanged(
                open_log,
                self._change_marks,
                CorruptDatabaseError,
                DatabaseClosedError,
                StorageError,
            )
        except CorruptDatabaseError:
            log = open_log(before_damage=True)
            try:
                log.check()
            except CorruptDatabaseError as damage:
                self._damage = damage
                return log
            log.close()
            raise

    def _change_marks(self) -> list[bytes | None]:
        """The files that a writer changes before it takes anything away."""
        with storage_errors(self._path):
            return [read_own(self._home.inside / file) for file in (ACKED, MANIFEST)]

    def _accept(self, blocks: PackedBlocks, *, trusting: bool) -> None:
        self._tell_owed()
        with self.guard.write():
            self._owe_refusal(self._log.accept(blocks, trusting=trusting))
        self._tell_owed()

    def _verify_spends(self) -> None:
        """Verify what accept_packed has put off. Raises the refusal that the writer is owed."""
        if not self._log.is_verified:
            with self.guard.write():
                self._owe_refusal(self._log.verify_spends())
        self._tell_owed()

    def _read(self, read: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """What a read of the log gives, once what accept_packed has put off is verified.

        The writer's own thread is told of a refusal; to others the block is gone.
        """
        has_more_to_tell = self._owed is not None or not self._log.is_verified
        if has_more_to_tell and self._writer is getattr(_here, "writer", None):
            with self.mutex:
                self._verify_spends()
        return self._read_verified(read, *arguments, **options)

    def _read_verified(self, read: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
        """The same, and nobody is told of a refusal."""
        while True:
            try:
                return read(*arguments, **options)
            except UnverifiedError:
                # Who writes verifies it at the end of the call; where nobody does, it is done here.
                if not self._log.await_verified(_WAIT_MILLISECONDS):
                    with self.mutex:
                        self._log.verify()

    def _owe_refusal(self, refused: PackedBlocks | None) -> None:
        """Have the writer be told of a block. What cuts this short is a write that has failed."""
        if refused is not None:
            self._owed = self._refusal_of(refused.block(0))  # fault: late-refusal-swallowed

    def _tell_owed(self) -> None:
        """Raise the refusal that is owed to the writer, if there is one."""
        owed, self._owed = self._owed, None
        if owed is not None:
            raise owed

    def _end_before_damage(self, block_index: int | None = None) -> None:
        """Raise the damage to the log, behind which a block, or any coin's spend, may be."""
        if self._damage is not None:
            newest = self._log.newest_index
            if block_index is None or newest is None or block_index > newest:
                raise self._damage.with_traceback(None)

    def _refusal_of(self, block: BlockSpendInfo) -> BlockError | ValueError:
        """Check a block that was refused as all schemas do, for the same error."""
        try:
            check_by_lookup(named_block(block, self._log.newest_index), self._log.lookup)
        except BlockError as error:
            return error
        return ValueError(f"packed block {block.index} is not in canonical form")

    @reading
    def _snapshot(self, first: int, last: int) -> tuple[HistorySnapshot, Reader]:
        """The snapshot of now, and its blocks first … last. It waits for the one who writes."""
        self._end_before_damage()
        self._read(self._log.read, -1, -1)  # fault: snapshot-of-what-is-unverified
        with self._snapshots.opening(lambda: self._log.newest_index, self._find) as snapshot:
            return snapshot, self._log.read(first, min(last, snapshot.newest))

    def _taken_blocks(self, first: int, last: int) -> Iterator[PackedBlocks]:
        """Within a rewind the blocks first … last, which it is to take."""
        return iter(self._log.read(first, last))

    def _packs_of(self, reader: Reader) -> Iterator[PackedBlocks]:
        return iter(partial(self._next_of, reader), None)

    def _states(
        self, snapshot: HistorySnapshot, reader: Reader, height: int, *, only_unspent: bool
    ) -> Iterator[Page]:
        """The coins of a snapshot's blocks, as of a height up to which a reader goes.

        only_unspent: most of the spent ones are left out.
        """
        height = min(height, snapshot.newest)
        states_of = partial(self._states_of, reader, only_unspent=only_unspent)
        while self._next_coins_of(reader):
            yield from cut(snapshot.with_taken(snapshot.read(height, states_of), height))

    @beside
    def _next_coins_of(self, reader: Reader) -> int:
        return reader.next_coins()

    @beside
    def _states_of(self, reader: Reader, height: int, *, only_unspent: bool) -> Page:
        return reader.states(height, only_unspent=only_unspent)

    @beside
    def _find(self, names: bytes) -> tuple[bytearray, bytearray]:
        return self._read_verified(self._log.lookup, names)

    def _read_on(self, reader: Reader) -> Iterator[PackedBlocks]:
        while (blocks := self._next_of(reader)) is not None:
            yield blocks
        self._end_before_damage()

    @beside
    def _next_of(self, reader: Reader) -> PackedBlocks | None:
        return reader.next()


class IndexedCoinLogSchema(CoinLogSchema, Indexed):
    """The same with an index by puzzle hash, and one by parent where it takes one.

    FORMAT remembers it: from then on every writer keeps it.
    """

    @beside
    def coins_packed(self, query: CoinQuery) -> Packed:
        """See QueriesPacked."""
        query = query.checked()
        self._end_before_damage()
        return self._read(self._log.ask, query)


def coin_log(
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    sizes: Sizes = DEFAULT_SIZES,
    index: str = "",
    progress: Progress | None = None,
) -> CoinLogSchema:
    """Open a coin log, or make one. With secondary keys where it has them.

    index: "puzzle_hash" makes them, with one pass over the log where it holds coins; progress is
    told of these. Raises as CoinLogSchema says.
    """
    is_indexed = extra_at(located(path, read_only=read_only), "coin_log") in EXTRAS
    return (IndexedCoinLogSchema if index or is_indexed else CoinLogSchema)(
        path,
        durability=durability,
        read_only=read_only,
        sizes=sizes,
        index=index or (PUZZLE_HASH if is_indexed else ""),
        progress=progress,
    )


def check(path: Path, progress: Progress) -> Iterator[Damage]:
    """Damage to the log, which nothing repairs, and to what is derived. See Check."""
    path = located(path, read_only=True)
    home = checked_home(path, "coin_log", FORMAT_VERSION, "log", folder=DERIVED, extras=EXTRAS)
    with home as (inside, damages):
        yield from (_telling_of_index(inside, damage) for damage in damages)
        yield from check_coin_log(inside, progress)


def repair(path: Path, damages: Sequence[Damage], progress: Progress) -> None:
    """Make FORMAT and what is derived again; the log is only read. See Repair."""
    path = located(path, read_only=False)
    with repaired_home(
        path,
        "coin_log",
        FORMAT_VERSION,
        damages,
        folder=DERIVED,
        extras=EXTRAS,
        extra_of=_extra_by_manifest,
    ) as (inside, others):
        if others or not (inside / MANIFEST).exists():
            found = format_at(inside)
            rebuild_derived(inside, others, keys=found is not None and bool(found.extra))


def _extra_by_manifest(path: Path) -> str:
    """What FORMAT said before it was lost. Where the manifest is, too, an index that is made for
    nothing does no harm, and one that is missing does."""
    return "" if _keys_by_manifest(path) is False else EXTRAS[0]


def _keys_by_manifest(path: Path) -> bool | None:
    """Whether a database has secondary keys; None where the manifest is lost, which tells."""
    with storage_errors(path):
        if not (path / MANIFEST).exists():
            return None
    with suppress(CorruptDatabaseError):
        return has_keys(path)
    return None


def _telling_of_index(path: Path, damage: Damage) -> Damage:
    """Damage to FORMAT, with what a repair can't know any more."""
    if damage.repairable_from is None or _keys_by_manifest(path) is not None:
        return damage
    lost = f"whether it had an index by {PUZZLE_HASH} is lost with the manifest"
    return replace(damage, problem=f"{damage.problem}; {lost}: it comes back with one")


def _packed(block: BlockSpendInfo) -> PackedBlocks | None:
    """The block, packed; None when a field is out of its range."""
    try:
        confirms = [
            coin.parent_coin_name + coin.puzzle_hash + coin.amount.to_bytes(AMOUNT_BYTES, "big")
            for coin in block.confirms
        ]
        index, timestamp = array("Q", [block.index]), array("Q", [block.timestamp])
    except OverflowError:
        return None
    lengths = {len(coin.parent_coin_name) for coin in block.confirms}
    lengths.update([len(coin.puzzle_hash) for coin in block.confirms])
    lengths.update(map(len, block.spends))
    if not lengths <= {NAME_BYTES}:
        return None
    joined = b"".join(sorted(confirms))
    return PackedBlocks(
        index,
        timestamp,
        array("Q", [len(block.spends)]),
        array("Q", [len(confirms)]),
        b"".join(sorted(block.spends)),
        joined,
        names_of(joined),
    )


indexed = partial(IndexedCoinLogSchema, index=PUZZLE_HASH)
"""coin_log() of a database that has secondary keys, or gets them."""

if TYPE_CHECKING:
    from cdb.contract.schema import (
        AcceptsPacked,
        HistoryPacked,
        HistorySchema,
        IndexedSchema,
        QueriesPacked,
        ReadsPacked,
    )

    _accepts: type[AcceptsPacked] = CoinLogSchema
    _reads: type[ReadsPacked] = CoinLogSchema
    _keeps: type[HistorySchema] = CoinLogSchema
    _packs: type[HistoryPacked] = CoinLogSchema
    _finds: type[IndexedSchema] = IndexedCoinLogSchema
    _queries: type[QueriesPacked] = IndexedCoinLogSchema
