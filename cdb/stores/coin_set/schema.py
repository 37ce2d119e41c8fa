"""A coin set in an engine as a schema: its kinds, and its openings."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from cdb.contract.durability import Durability
from cdb.contract.progress import Progress
from cdb.contract.secondary_keys import how_to_index
from cdb.disk.damage import Damage
from cdb.disk.paths import located
from cdb.disk.sharing import file_marks, read_unchanged
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    DatabaseLockedError,
)
from cdb.extensions.native import NativeEngine
from cdb.front.history import ViewHistory
from cdb.front.offers import Keyed, Settling, UnfinishedKeysError, keyed_home, open_keyed
from cdb.process.memory import memory_bytes
from cdb.stores.coin_set.backend import PromisedSet
from cdb.stores.coin_set.binding import Keys, Options
from cdb.stores.coin_set.check import (
    DB,
    FORMAT_VERSION,
    STEP_COINS,
    check_coin_set,
    repair_coin_set,
)

COMMIT_ENTRIES = 6_000_000
"""Where there is memory for them; see Kind.commit_entries(). A spend of a coin in memory needs no
look-up in the engine, and a tree's pages are written once per commit."""
OWN_BYTES = 130_000_000
"""What a process takes beside a commit: Python, the text that it reads, the engine's memtables, and
pages of files that are not on the disk yet."""
COMMIT_BYTES = 2_700_000_000
"""What a commit may take, however much memory there is."""
LEAST_ENTRIES = 2_000
"""However little memory there is."""
INGEST_ENTRIES = 10_000
CACHE_MB = 64
"""Where there is memory for it; see cache_bytes()."""
ENTRY_BYTES = 300
"""What a coin in memory takes at most while a commit writes it, vectors that grow included."""


def cache_bytes(cache_mb: int | None) -> int:
    """Of an engine. None: nobody says how much, so it is at most a sixteenth of the memory."""
    return min(CACHE_MB << 20, memory_bytes() // 16) if cache_mb is None else cache_mb << 20


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
        of the memory that is left and COMMIT_BYTES, but no more than are of use."""
        room = min(max(memory_bytes() - OWN_BYTES, 0) // 2, COMMIT_BYTES)
        fitting = max(
            room // (ENTRY_BYTES + self.page_bytes),
            (room - self.most_page_bytes) // ENTRY_BYTES,
        )
        return max(LEAST_ENTRIES, min(fitting, COMMIT_ENTRIES))

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


class CoinSetSchema(Settling, ViewHistory):
    """Keeps coins, spends and blocks in an engine; see cdb.schemas.Schema for the methods. As of a
    height the layout answers; states come by name.

    kind: the layout, and its engine.
    commit_entries: coins that are collected in memory before they are committed and indexed; as
    Kind.commit_entries() says unless it is given.
    ingest_entries: a write of at least so many builds sorted runs, a smaller one a write batch.
    cache_mb: what the engine may hold of what it has read, in units of 2^20 bytes; as cache_bytes()
    says unless it is given.
    index: "puzzle_hash" gives it secondary keys, by one pass over the blocks that there are;
    progress is told of their coins. name_bits: of a hash, those that new secondary keys tell apart.
    Raises MissingEngineError or UnsupportedError before it makes anything, or what Home and CoinSet
    raise.
    """

    _backend: PromisedSet

    def __init__(
        self,
        kind: Kind,
        path: str | PathLike[str],
        *,
        durability: Durability = Durability.POWER,
        read_only: bool = False,
        commit_entries: int | None = None,
        ingest_entries: int = INGEST_ENTRIES,
        cache_mb: int | None = None,
        index: str = "",
        name_bits: int = 64,
        progress: Progress | None = None,
    ) -> None:
        self.kind = kind
        kind.engine.load()
        path = located(path, read_only=read_only)
        entries = kind.commit_entries() if commit_entries is None else commit_entries
        sizes = entries, ingest_entries, cache_bytes(cache_mb)
        with ExitStack() as undo:
            home = keyed_home(
                kind.name,
                FORMAT_VERSION,
                path,
                index,
                is_keyed=isinstance(self, Keyed),
                read_only=read_only,
                folder=DB,
                folders=kind.engine.folders,
            )
            undo.callback(home.close)
            keys = Keys.KEPT if home.extra else Keys.NONE
            how = False, read_only, durability is Durability.POWER
            options = Options(kind.layout, *how, *sizes, keys, name_bits)
            coins = _opened(kind, home.inside, options)
            undo.callback(coins.close)
            if not read_only:
                coins.complete(min(STEP_COINS, kind.commit_entries()), progress)
            elif isinstance(self, Keyed) and not coins.state.has_keys:
                advice = how_to_index(kind.name, path)
                raise UnfinishedKeysError(path, f"its index is not made yet; {advice}")
            place = home.check_in_place
            super().__init__(path, coins, home.close, read_only=read_only, check_place=place)
            undo.pop_all()


class IndexedCoinSetSchema(CoinSetSchema, Keyed):
    """The same with secondary keys.

    FORMAT remembers them: from then on every writer keeps them.
    """

    _backend: PromisedSet


def _opened(kind: Kind, path: Path, options: Options) -> PromisedSet:
    """The coin set of a database's directory."""
    open_it = partial(PromisedSet, kind.engine, path, options)
    if not options.read_only:
        return open_it()
    return read_unchanged(
        open_it,
        partial(file_marks, path / DB),
        CorruptDatabaseError,
        DatabaseLockedError,
        DatabaseClosedError,  # writers come and go, and may keep nothing for it yet
    )


def open_coin_set(kind: Kind, path: str | PathLike[str], **options: Any) -> CoinSetSchema:
    """Open a coin set, or make one, with secondary keys where it has them. See CoinSetSchema."""
    openers = partial(CoinSetSchema, kind), partial(IndexedCoinSetSchema, kind)
    return open_keyed(kind.name, openers, path, **options)
