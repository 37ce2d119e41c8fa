"""Opens a database directory of coin rows with an index of their names.

my.cdb/
├── FORMAT, LOCK    see cdb.engines.home
├── coins.sqlite    coins and blocks: the truth
└── index/          name → row id: derived, and rebuilt from coins.sqlite when it is deleted
"""

from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from os import PathLike
from pathlib import Path

from cdb.durability import Durability
from cdb.engines.coin_rows import CoinRows
from cdb.engines.coin_table import CompactTable
from cdb.engines.home import Home
from cdb.engines.index import IndexFactory, NameIndex
from cdb.engines.names import IndexedNames, StaleIndexError
from cdb.schemas._store import CoinStore

FORMAT_VERSION = 2
MEMTABLE_COINS = 250_000
READ_TRIES = 4


def open_indexed(
    schema: str,
    index_factory: IndexFactory,
    path: str | PathLike[str],
    *,
    durability: Durability = Durability.POWER,
    read_only: bool = False,
    memtable_coins: int = MEMTABLE_COINS,
) -> CoinStore:
    """Open or create the database of one schema. See Home and CoinStore for the errors.

    memtable_coins: how many new names are collected before they are written to the index.
    """

    open_all = partial(
        _open_once,
        Path(path),
        schema,
        partial(index_factory, durability=durability, read_only=read_only),
        durability=durability,
        read_only=read_only,
        memtable_coins=memtable_coins,
    )
    for _ in range(READ_TRIES if read_only else 0):
        # A writer that is alive may change the index between our look at the rows and at it.
        with suppress(StaleIndexError):
            return open_all()
    return open_all()


def _open_once(
    path: Path,
    schema: str,
    open_index: Callable[[Path], NameIndex],
    *,
    durability: Durability,
    read_only: bool,
    memtable_coins: int,
) -> CoinStore:
    with ExitStack() as undo:
        home = Home(path, schema, FORMAT_VERSION, read_only=read_only)
        undo.callback(home.close)
        coins_path = path / "coins.sqlite"
        rows = CoinRows(coins_path, CompactTable(), durability, read_only=read_only)
        undo.callback(rows.close)
        names = IndexedNames(
            rows, path / "index", open_index, memtable_coins=memtable_coins, read_only=read_only
        )
        undo.pop_all()
        return CoinStore(rows, names, home.close, read_only=read_only)
