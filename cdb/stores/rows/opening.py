"""Opens a database directory of coin rows with an index of their names.

my.cdb/
├── FORMAT, LOCK    see cdb.disk.home
├── coins.sqlite    coins and blocks: the truth
└── index/          name → row id: derived, and rebuilt from coins.sqlite when it is deleted
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from os import PathLike
from pathlib import Path

from cdb.contract.durability import Durability
from cdb.contract.progress import Progress
from cdb.disk.damage import Damage
from cdb.disk.home import checked_home, repaired_home
from cdb.disk.paths import located
from cdb.front.history import ViewHistory
from cdb.front.offers import Settling, Telling
from cdb.front.store import Store, open_backend
from cdb.stores.rows.backend import NamedRows
from cdb.stores.rows.check import check_index, check_rows, rebuild_index
from cdb.stores.rows.coin_rows import CoinRows
from cdb.stores.rows.coin_table import CompactTable
from cdb.stores.rows.index import IndexFactory
from cdb.stores.rows.names import IndexedNames, StaleIndexError

FORMAT_VERSION = 3
COINS_FILE = "coins.sqlite"
INDEX_DIRECTORY = "index"
MEMTABLE_COINS = 250_000
READ_TRIES = 4


class CoinStore(Settling, Telling, ViewHistory):
    """See Store. One lock makes each call whole: reads from other threads wait for the writer."""

    _backend: NamedRows

    def __init__(
        self,
        path: str | PathLike[str],
        backend: NamedRows,
        release: Callable[[], None],
        *,
        read_only: bool,
        check_place: Callable[[], None],
    ) -> None:
        def check_both() -> None:  # of what it needs alone: a store that is dropped ends at once
            check_place()
            backend.rows.check_in_place()

        super().__init__(path, backend, release, read_only=read_only, check_place=check_both)


def open_indexed(
    schema: str,
    index_factory: IndexFactory,
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    memtable_coins: int = MEMTABLE_COINS,
    load_engine: Callable[[], object] | None = None,
) -> Store:
    """Open or create the database of one schema. See Home for the errors.

    memtable_coins: how many new names are collected before they are written to the index.
    load_engine: raises where the index's engine can't be used, before anything is made.
    """
    if load_engine is not None:
        load_engine()
    open_once = partial(_open_once, index_factory, memtable_coins)

    def open_rows(path: Path, *, durability: Durability, read_only: bool) -> NamedRows:
        for _ in range(READ_TRIES if read_only else 0):
            # A writer that is alive may change the index between our look at the rows and at it.
            with suppress(StaleIndexError):
                return open_once(path, durability=durability, read_only=read_only)
        return open_once(path, durability=durability, read_only=read_only)

    return open_backend(
        schema,
        open_rows,
        path,
        durability=durability,
        read_only=read_only,
        version=FORMAT_VERSION,
        folder=INDEX_DIRECTORY,
        kind=CoinStore,
    )


def _open_once(
    index_factory: IndexFactory,
    memtable_coins: int,
    path: Path,
    *,
    durability: Durability,
    read_only: bool,
) -> NamedRows:
    index_path = path / INDEX_DIRECTORY
    with ExitStack() as undo:
        rows = CoinRows(
            path / COINS_FILE,
            CompactTable(),
            durability,
            read_only=read_only,
            # The index is made once the rows' tables are durable, where power cuts count.
            was_made=durability is Durability.POWER and not read_only and index_path.exists(),
        )
        undo.callback(rows.close)
        if not read_only and not index_path.exists():
            rows.sync()  # where there is an index, rows without tables are damage
        names = IndexedNames(
            rows,
            index_path,
            partial(index_factory, durability=durability, read_only=read_only),
            memtable_coins=memtable_coins,
            durability=durability,
            read_only=read_only,
        )
        undo.pop_all()
        return NamedRows(rows, names)


def check_indexed(
    schema: str,
    index_factory: IndexFactory,
    path: Path,
    progress: Progress,
    *,
    load_engine: Callable[[], object] | None = None,
) -> Iterator[Damage]:
    """Check the rows, and the index if they are sound. See cdb.schemas, and open_indexed()."""
    if load_engine is not None:
        load_engine()
    path = located(path, read_only=True)
    open_index = partial(index_factory, durability=Durability.POWER, read_only=True)
    home = checked_home(path, schema, FORMAT_VERSION, COINS_FILE, folder=INDEX_DIRECTORY)
    with home as (inside, damages):
        yield from damages
        with closing(_rows(inside)) as rows:
            is_sound = True
            for damage in check_rows(rows, progress):
                is_sound = False
                yield damage
            if is_sound:
                yield from check_index(rows, inside / INDEX_DIRECTORY, open_index, progress)


def repair_indexed(
    schema: str,
    index_factory: IndexFactory,
    path: Path,
    damages: Sequence[Damage],
    progress: Progress,
    *,
    load_engine: Callable[[], object] | None = None,
) -> None:
    """Make FORMAT and the index again; the rows are only read. See cdb.schemas, open_indexed()."""
    if load_engine is not None:
        load_engine()
    path = located(path, read_only=False)
    open_index = partial(index_factory, durability=Durability.POWER, read_only=False)
    home = repaired_home(path, schema, FORMAT_VERSION, damages, folder=INDEX_DIRECTORY)
    with home as (inside, others), closing(_rows(inside)) as rows:
        if others:
            rebuild_index(rows, inside / INDEX_DIRECTORY, open_index, MEMTABLE_COINS, progress)


def _rows(path: Path) -> CoinRows:
    return CoinRows(path / COINS_FILE, CompactTable(), Durability.POWER, read_only=True)
