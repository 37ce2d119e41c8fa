"""Schemas that keep coins, spends and blocks in an ordered key-value engine, and nothing elsewhere.

my.cdb/
├── FORMAT, LOCK    see cdb.disk.home
├── db/             the engine's; docs/schemas/rocks_kv.md draws its keys and values
└── NEWEST          how far db/ had come when it was last closed or given a large commit
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from cdb.contract.blocks import BlockSpendInfo, checked_index, checked_names, named_block
from cdb.contract.coin_query import CoinQuery
from cdb.contract.coins import MAX_U32, CoinInfo, bytes32
from cdb.contract.durability import Durability
from cdb.contract.history import ABOVE_ALL, PAGE_ROWS, PackedHistory, Page, checked_height
from cdb.contract.packed import (
    Packed,
    PackedBlocks,
    check_by_lookup,
    checked_packed_names,
    pack_named,
    unpacked_infos,
)
from cdb.contract.packed_state import with_names
from cdb.contract.progress import Progress
from cdb.contract.secondary_keys import EXTRAS, PUZZLE_HASH, Indexed, extra_for, how_to_index
from cdb.disk.damage import Damage
from cdb.disk.files import make_dir
from cdb.disk.home import Home, extra_at
from cdb.disk.paths import located
from cdb.disk.sharing import beside, file_marks, read_unchanged, reading, whole, writing
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseLockedError,
    WrongDatabaseError,
)
from cdb.extensions.native import NativeEngine
from cdb.process.memory import memory_bytes
from cdb.stores.coin_set.binding import CoinPages, CoinSet, Cursor, Keys, Options
from cdb.stores.coin_set.check import (
    DB,
    FORMAT_VERSION,
    STEP_COINS,
    check_coin_set,
    repair_coin_set,
)
from cdb.stores.coin_set.promise import NEWEST_FILE, Promise, read_promise, write_promise

COMMIT_ENTRIES = 3_000_000
"""Where there is memory for them; see Kind.commit_entries()."""
INGEST_ENTRIES = 10_000
CACHE_MB = 64
ENTRY_BYTES = 300
"""What a coin in memory takes at most while a commit writes it, vectors that grow included."""
BATCH_ENTRIES = 50_000
READ_ENTRIES = 1_000
PACK_ENTRIES = 200_000
"""For blocks_packed(): lookups in the order of blocks cost less the more of them come at a time.
(5.5 µs a coin by 10,000, 4.0 by 65,536, 3.4 by 262,144.) A pack of these takes some 20 MB."""


class Kind(NamedTuple):
    """A layout in an engine. name: what FORMAT says. layout: with its options.

    page_bytes: the pages that a coin changes, one in each space, and that a commit holds in memory
    until it writes them; of all coins together at most most_page_bytes.
    """

    name: str
    engine: NativeEngine
    layout: str = "interval"
    page_bytes: int = 0
    most_page_bytes: int = 0

    def commit_entries(self) -> int:
        """How many coins are collected where nobody says: as many as a commit writes within half
        of the memory, but no more than are of use."""
        half = memory_bytes() // 2
        fitting = max(
            half // (ENTRY_BYTES + self.page_bytes),
            (half - self.most_page_bytes) // ENTRY_BYTES,
        )
        return max(INGEST_ENTRIES, min(fitting, COMMIT_ENTRIES))

    def check(self, path: Path, progress: Progress) -> Iterator[Damage]:
        """See check_coin_set()."""
        path = located(path, read_only=True)
        return check_coin_set(self.engine, self.name, self.layout, path, progress)

    def repair(self, path: Path, damages: Sequence[Damage], progress: Progress) -> None:
        """See repair_coin_set()."""
        path = located(path, read_only=False)
        repair_coin_set(self.engine, self.name, self.layout, path, damages, progress)

    def versions(self) -> list[str]:
        """The engine's library; see SchemaSpec."""
        return [self.engine.version()]


class UnfinishedKeysError(WrongDatabaseError):
    """Secondary keys are not made yet, and a reader makes none."""


class CoinSetSchema(PackedHistory):
    """Keeps coins, spends and blocks in an engine; see cdb.schemas.Schema for the methods. As of a
    height the layout answers; states come by name.

    kind: the layout, and its engine.
    commit_entries: coins that are collected in memory before they are committed and indexed; as
    Kind.commit_entries() says unless it is given.
    ingest_entries: a write of at least so many builds sorted runs, a smaller one a write batch.
    cache_mb: what the engine may hold of what it has read, in units of 2^20 bytes.
    index: "puzzle_hash" gives it secondary keys, by one pass over the blocks that there are;
    progress is told of their coins. name_bits: of a hash, those that new secondary keys tell apart.
    Raises MissingEngineError or UnsupportedError before it makes anything, or what Home and CoinSet
    raise.
    """

    def __init__(
        self,
        kind: Kind,
        path: str | PathLike[str],
        *,
        durability: Durability = Durability.POWER,
        read_only: bool = False,
        commit_entries: int | None = None,
        ingest_entries: int = INGEST_ENTRIES,
        cache_mb: int = CACHE_MB,
        index: str = "",
        name_bits: int = 64,
        progress: Progress | None = None,
    ) -> None:
        self.kind = kind
        self.kind.engine.load()
        extra = extra_for(self.kind.name, index)
        self._path = located(path, read_only=read_only)
        super().__init__(self._path, read_only=read_only)
        self._durable = durability is Durability.POWER
        entries = self.kind.commit_entries() if commit_entries is None else commit_entries
        sizes = entries, ingest_entries, cache_mb << 20
        with ExitStack() as undo:
            self._home = Home(
                self._path,
                self.kind.name,
                FORMAT_VERSION,
                read_only=read_only,
                folder=DB,
                extras=EXTRAS,
                extra=extra,
            )
            undo.callback(self._home.close)
            self.guard.check_place = self._home.check_in_place
            if extra and not self._home.extra:
                advice = how_to_index(self.kind.name, self._path)
                raise WrongDatabaseError(self._path, f"it has no index by {index}; {advice}")
            keys = Keys.KEPT if self._home.extra else Keys.NONE
            how = False, read_only, self._durable
            self._open(Options(self.kind.layout, *how, *sizes, keys, name_bits))
            undo.callback(self._coins.close)
            self._newest = self._coins.state.newest
            self._ingestions = 0
            if not read_only:
                self._end_rewind()
                self._make_keys(progress)
            elif index and not self._coins.state.has_keys:
                advice = how_to_index(self.kind.name, self._path)
                raise UnfinishedKeysError(self._path, f"its index is not made yet; {advice}")
            self.end_with(self._coins.close, self._home.close)
            undo.pop_all()

    @property
    def last_block_index(self) -> int | None:
        """See Schema."""
        return self._newest

    @writing
    def accept_block(self, block_spend_info: BlockSpendInfo) -> None:
        """See Schema."""
        self._accept(pack_named(named_block(block_spend_info, self._newest)))

    def accept_packed(self, packed_blocks: PackedBlocks) -> None:
        """See AcceptsPacked."""
        self._accept_packed(PackedBlocks.checked(packed_blocks))

    @reading
    def flush(self) -> None:
        """See Schema."""
        self._flush()

    @writing
    def settle(self) -> None:
        """See Settles."""
        with self.guard.write():
            self._coins.settle()
            self._promise(self._reached())

    def coin_infos_for_coin_names(self, coin_names: list[bytes32]) -> list[CoinInfo]:
        """See Schema."""
        return unpacked_infos(*self.coin_infos_packed(b"".join(checked_names(coin_names))))

    @beside
    def coin_infos_packed(self, coin_names: Packed) -> tuple[bytearray, bytearray]:
        """See ReadsPacked."""
        return self._coins.find(checked_packed_names(coin_names))

    @beside
    def block_info_for_block_index(self, block_index: int) -> BlockSpendInfo | None:
        """See Schema."""
        block_index = checked_index(block_index)
        return self._coins.block(block_index) if 0 <= block_index <= MAX_U32 else None

    @writing
    def rewind_to_block_index(self, block_index: int) -> None:
        """See Schema."""
        block_index = checked_index(block_index)
        self._flush()
        if self._newest is None or block_index >= self._newest:
            return
        with self.guard.write():
            if self._promised.newest > block_index:
                self._promise(Promise(-1, self._promised.sequence))  # fault: promise-kept-by-rewind
            self._coins.begin_rewind(max(block_index, -1))
            self._newest = self._coins.state.newest
            self._end_rewind()

    def blocks(self) -> Iterator[BlockSpendInfo]:
        """See Schema."""
        packs = self._packs(READ_ENTRIES)
        return self.iteration(packed.block(n) for packed in packs for n in range(len(packed)))

    def blocks_packed(self) -> Iterator[PackedBlocks]:
        """The blocks of blocks(), about 100,000 coins at a time."""
        return self.iteration(map(with_names, self._packs(PACK_ENTRIES)))

    def _find_as_of(
        self, coin_names: bytes | memoryview, height: int
    ) -> tuple[bytearray, bytearray]:
        return self._coins.find_as_of(coin_names, height)

    def state_at_packed(self, height: int) -> Iterator[Page]:
        """See HistoryPacked."""
        return self._pages_of(self._state_at(checked_height(height), only_unspent=False))

    def unspent_packed(self) -> Iterator[Page]:
        """See HistoryPacked."""
        return self._pages_of(self._state_at(ABOVE_ALL, only_unspent=True))

    def versions_packed(self, first: int, last: int) -> Iterator[Page]:
        """See HistoryPacked."""
        return self._pages_of(self._versions(checked_height(first), checked_height(last)))

    @whole
    def close(self) -> None:
        """See Schema."""
        if self.guard.disowned:
            return
        is_first = not self.guard.closed
        self.guard.closed = True
        with ExitStack() as stack:
            stack.callback(self._home.close)
            stack.callback(self._coins.close)
            if is_first and not self.guard.failed and not self.read_only:
                self.guard.check_place()
                self._coins.end_reading()
                self._coins.checkpoint()
                self._promise(self._reached())

    def _open(self, options: Options) -> None:
        if self.read_only:
            read_unchanged(
                partial(self._open_once, options),
                partial(file_marks, self._home.inside / DB),
                CorruptDatabaseError,
                DatabaseLockedError,
                DatabaseClosedError,  # writers come and go, and may keep nothing for it yet
            )
        else:
            self._open_once(options)

    def _open_once(self, options: Options) -> None:
        inside = self._home.inside
        promised = read_promise(inside / NEWEST_FILE)
        if not self.read_only:
            make_dir(inside / DB, durable=self._durable)
        create = promised is None and not self.read_only
        self._coins = CoinSet(self.kind.engine, inside / DB, options._replace(create=create))
        try:
            if promised is None and not self._coins.state.is_new:
                raise CorruptDatabaseError(inside / NEWEST_FILE, "it is missing")
            self._promised = promised or Promise(-1, 0)
            self._check_promise()
            if create:
                self._promise(self._promised)
        except BaseException:
            self._coins.close()
            raise

    def _check_promise(self) -> None:
        reached = self._reached()
        if reached.newest < self._promised.newest or reached.sequence < self._promised.sequence:
            problem = f"damaged: it ends at block {reached.newest}, sequence {reached.sequence}"
            promised = f"block {self._promised.newest}, sequence {self._promised.sequence}"
            raise CorruptDatabaseError(self._coins.path, f"{problem}, and had {promised}")

    def _reached(self) -> Promise:
        state = self._coins.state
        return Promise(-1 if state.committed is None else state.committed, state.sequence)

    def _promise(self, promise: Promise) -> None:
        newest = self._home.inside / NEWEST_FILE
        if promise != self._promised or not newest.exists():
            write_promise(newest, promise)
            self._promised = promise

    @writing
    def _accept_packed(self, packed_blocks: PackedBlocks) -> None:
        self._accept(packed_blocks)

    def _accept(self, packed_blocks: PackedBlocks) -> None:
        with self.guard.write():
            accepted = self._coins.accept(packed_blocks)
            if accepted:
                self._newest = packed_blocks.indices[accepted - 1]
            self._promise_what_was_ingested()
        if accepted < len(packed_blocks.indices):
            self._refuse(packed_blocks.block(accepted))

    def _flush(self) -> None:
        if not self.read_only:
            with self.guard.write():
                self._coins.commit()
                self._promise_what_was_ingested()

    def _promise_what_was_ingested(self) -> None:
        """Runs that were ingested are not in the log, so a manifest that is cut would lose them.

        Below POWER the log may hold more than was synced, and nothing is promised before a close.
        """
        ingestions = self._coins.state.ingestions
        if self._durable and ingestions != self._ingestions:
            self._ingestions = ingestions
            self._promise(self._reached())

    @beside
    def _packs(self, entries: int) -> Iterator[PackedBlocks]:
        """All blocks as they are now, without names, in packs of so many coins + spends."""
        cursor = self._coins.cursor()
        return self.iteration(iter(partial(self._next_of, cursor, entries), None))

    @beside
    def _state_at(self, height: int, *, only_unspent: bool) -> CoinPages:
        return self._coins.state_at(height, only_unspent=only_unspent)

    @beside
    def _versions(self, first: int, last: int) -> CoinPages:
        return self._coins.versions(first, last)

    def _pages_of(self, coins: CoinPages) -> Iterator[Page]:
        return self.iteration(iter(partial(self._next_page, coins), None))

    @beside
    def _next_page(self, coins: CoinPages) -> Page | None:
        rows = coins.next(PAGE_ROWS)
        return None if rows is None else Page(*rows)

    @beside
    def _next_of(self, cursor: Cursor, entries: int) -> PackedBlocks | None:
        return cursor.next(entries)

    def _refuse(self, block: BlockSpendInfo) -> NoReturn:
        """Raise what is wrong with a refused block, by the checks that all schemas share."""
        check_by_lookup(named_block(block, self._newest), self._coins.find)
        raise ValueError(f"packed block {block.index} is not in canonical form")

    def _end_rewind(self) -> None:
        """Erase what a rewind has put out of sight, also one that a crash has cut short."""
        if not self._coins.state.is_rewinding:
            return
        first = 0
        # Each batch by a cursor of its own: while one is open, engines may reuse no freed space.
        while rewound := self._coins.rewound(first).next(BATCH_ENTRIES):
            self._coins.erase(with_names(rewound))
            first = rewound.indices[-1] + 1
        self._coins.end_rewind()

    def _make_keys(self, progress: Progress | None) -> None:
        """Give the database the secondary keys that FORMAT says it has, or go on with that."""
        if not self._home.extra or self._coins.state.has_keys:
            return
        for coins in self._coins.make_keys(min(STEP_COINS, self.kind.commit_entries())):
            if progress is not None:
                progress(coins)
        self._promise_what_was_ingested()


class IndexedCoinSetSchema(CoinSetSchema, Indexed):
    """The same with secondary keys.

    FORMAT remembers them: from then on every writer keeps them.
    """

    @beside
    def coins_packed(self, query: CoinQuery) -> Packed:
        """See QueriesPacked."""
        return self._coins.ask(query.checked())


def open_coin_set(
    kind: Kind,
    path: str | PathLike[str],
    *,
    read_only: bool = False,
    index: str = "",
    **options: Any,
) -> CoinSetSchema:
    """Open a coin set, or make one, with secondary keys where it has them. See CoinSetSchema.

    A reader of a database whose keys are not made yet finds coins by their names.
    """
    if index:
        return IndexedCoinSetSchema(kind, path, read_only=read_only, index=index, **options)
    found = extra_at(located(path, read_only=read_only), kind.name)
    if found in EXTRAS:
        with suppress(UnfinishedKeysError):
            return IndexedCoinSetSchema(
                kind, path, read_only=read_only, index=PUZZLE_HASH, **options
            )
    return CoinSetSchema(kind, path, read_only=read_only, **options)


if TYPE_CHECKING:
    from cdb.contract.schema import (
        AcceptsPacked,
        HistoryPacked,
        HistorySchema,
        IndexedSchema,
        QueriesPacked,
        ReadsPacked,
        Settles,
    )

    _accepts: type[AcceptsPacked] = CoinSetSchema
    _reads: type[ReadsPacked] = CoinSetSchema
    _settles: type[Settles] = CoinSetSchema
    _keeps: type[HistorySchema] = CoinSetSchema
    _packs: type[HistoryPacked] = CoinSetSchema
    _finds: type[IndexedSchema] = IndexedCoinSetSchema
    _queries: type[QueriesPacked] = IndexedCoinSetSchema
