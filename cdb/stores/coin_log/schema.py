"""The coin log as a schema: its openings, and its backend in front of damage."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cdb.contract.blocks import BlockSpendInfo
from cdb.contract.coin_query import CoinQuery
from cdb.contract.durability import Durability
from cdb.contract.history import ABOVE_ALL, checked_height
from cdb.contract.packed import PackedBlocks
from cdb.contract.progress import Progress
from cdb.contract.secondary_keys import PUZZLE_HASH
from cdb.disk.home import Home
from cdb.disk.paths import located, read_own
from cdb.disk.sharing import beside, read_unchanged
from cdb.errors import (
    CorruptDatabaseError,
    DatabaseClosedError,
    StorageError,
    storage_errors,
)
from cdb.front.history import SnapshotHistory
from cdb.front.late import LateRefusals
from cdb.front.offers import Keyed, Telling, keyed_home, open_keyed
from cdb.stores.coin_log.binding import DEFAULT_SIZES, CoinLog, Sizes, load
from cdb.stores.coin_log.check import ACKED, DERIVED, FORMAT_VERSION, MANIFEST


class CoinLogSchema(LateRefusals, SnapshotHistory, Telling):
    """Keeps the coin set in a coin log; see cdb.schemas.Schema for the methods. As of a height it
    answers by the mask (cdb.contract.history); states come by creation.

    Reads from any number of threads go on beside the writer: they wait for no sync and no merge.
    Opened read_only it shows the state of its opening, also while another process writes, and where
    its directory is moved or removed. When that one rewinds, or others overwrite its files, reads
    raise DatabaseClosedError, and opening it again helps. Of a damaged log the blocks before the
    first damage can be read so; anything else raises CorruptDatabaseError.
    """

    _backend: CoinLog

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
        path = located(path, read_only=read_only)
        with ExitStack() as undo:
            home = keyed_home(
                "coin_log",
                FORMAT_VERSION,
                path,
                index,
                is_keyed=isinstance(self, Keyed),
                read_only=read_only,
                folder=DERIVED,
            )
            undo.callback(home.close)
            options = {"durability": durability, "sizes": sizes, "progress": progress}
            log = _opened(home, path, read_only=read_only, **options)
            undo.callback(log.close)
            super().__init__(path, log, home.close, read_only=read_only)
            undo.pop_all()

    @beside
    def count_unspent(self, height: int = ABOVE_ALL) -> int:
        """How many coins are unspent as of a height: it goes over no coins."""
        return self._read(self._backend.count_unspent, checked_height(height))


class IndexedCoinLogSchema(CoinLogSchema, Keyed):
    """The same with an index by puzzle hash, and one by parent where it takes one.

    FORMAT remembers it: from then on every writer keeps it.
    """

    _backend: CoinLog


class _BeforeDamage(CoinLog):
    """The blocks before the first damage to a log. What may lie behind it, a coin's spend as well,
    raises the damage."""

    @property
    def newest_index(self) -> int | None:
        """See PackedBackend."""
        self.check()
        return super().newest_index

    def block(self, block_index: int) -> BlockSpendInfo | None:
        """See PackedBackend."""
        block = super().block(block_index)
        newest = super().newest_index
        if newest is None or block_index > newest:
            self.check()
        return block

    def read(self, first: int, last: int, entries: int) -> Iterator[PackedBlocks]:
        """See PackedBackend: the damage comes behind the last one."""
        return self._up_to_damage(super().read(first, last, entries))

    def find(
        self, names: bytes | memoryview, height: int = ABOVE_ALL
    ) -> tuple[bytearray, bytearray]:
        """See PackedBackend, and PresentBackend for a height."""
        self.check()
        return super().find(names, height)

    def ask(self, query: CoinQuery) -> bytearray:
        """See KeyedBackend."""
        self.check()
        return super().ask(query)

    def count_unspent(self, height: int) -> int:
        """See CoinLog."""
        self.check()
        return super().count_unspent(height)

    def _up_to_damage(self, blocks: Iterator[PackedBlocks]) -> Iterator[PackedBlocks]:
        yield from blocks
        self.check()


def coin_log(path: str | PathLike[str], **options: Any) -> CoinLogSchema:
    """Open a coin log, or make one. With secondary keys where it has them. See CoinLogSchema.

    index: "puzzle_hash" makes them, with one pass over the log where it holds coins; progress is
    told of these.
    """
    return open_keyed("coin_log", (CoinLogSchema, IndexedCoinLogSchema), path, **options)


def _opened(home: Home, path: Path, *, read_only: bool, **options: Any) -> CoinLog:
    """The log in a home. Of a damaged one, read_only, what comes before the first damage."""
    options["keys"] = bool(home.extra)
    if not read_only:
        return CoinLog(home.inside, **options)

    def change_marks() -> list[bytes | None]:
        """The files that a writer changes before it takes anything away."""
        with storage_errors(path):
            return [read_own(home.inside / file) for file in (ACKED, MANIFEST)]

    by_writers = CorruptDatabaseError, DatabaseClosedError, StorageError
    try:
        open_it = partial(CoinLog, home.inside, read_only=True, **options)
        return read_unchanged(open_it, change_marks, *by_writers)
    except CorruptDatabaseError:
        log = _BeforeDamage(home.inside, read_only=True, before_damage=True, **options)
        try:
            log.check()
        except CorruptDatabaseError:
            return log
        log.close()
        raise


indexed = partial(IndexedCoinLogSchema, index=PUZZLE_HASH)
"""coin_log() of a database that has secondary keys, or gets them."""

if TYPE_CHECKING:
    from cdb.contract.schema import SchemaFactory

    _opens: SchemaFactory = coin_log
