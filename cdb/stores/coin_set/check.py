"""Checks a coin set in an engine, and makes anew what follows from its blocks."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from cdb.contract.progress import Progress
from cdb.contract.secondary_keys import EXTRAS
from cdb.disk.damage import Damage
from cdb.disk.home import checked_home, repaired_home
from cdb.extensions.native import NativeEngine
from cdb.stores.coin_set.binding import CoinSet, Keys, Options
from cdb.stores.coin_set.promise import NEWEST_FILE, check_promise, rewrite_promise

DB = "db"
"""The engine's directory in a database's."""
FORMAT_VERSION = 4
STEP_COINS = 500_000
"""Of which secondary keys are made, or checked, at a time."""
_INGEST_ENTRIES = 10_000
_CACHE_BYTES = 1 << 20


def check_coin_set(
    engine: NativeEngine, schema: str, layout: str, path: Path, progress: Progress
) -> Iterator[Damage]:
    """Damage to FORMAT, NEWEST and secondary keys; what else is in db/ shows when it is read.

    Raises CorruptDatabaseError when the engine finds damage to db/. See cdb.schemas.
    """
    folders = engine.folders
    home = checked_home(path, schema, FORMAT_VERSION, DB, folder=DB, folders=folders, extras=EXTRAS)
    with home as (inside, damages):
        yield from damages
        with closing(_opened(engine, layout, inside, read_only=True)) as coins:
            coins.verify()
            yield from check_promise(inside, coins)
            if coins.state.has_keys and not coins.are_keys_right(STEP_COINS, progress):
                problem = "the secondary keys are not those of its blocks"
                yield Damage(inside / DB, problem, "blocks")


def repair_coin_set(
    engine: NativeEngine,
    schema: str,
    layout: str,
    path: Path,
    damages: Sequence[Damage],
    progress: Progress,
) -> None:
    """Make FORMAT, NEWEST and secondary keys anew, where they are damaged. See cdb.schemas."""
    extra_of = partial(_extra_by_marks, engine, layout)
    home = repaired_home(
        path,
        schema,
        FORMAT_VERSION,
        damages,
        folder=DB,
        folders=engine.folders,
        extras=EXTRAS,
        extra_of=extra_of,
    )
    with home as (inside, others):
        opened = partial(_opened, engine, layout, inside)
        if inside / DB in others:
            with closing(opened(read_only=False, keys=Keys.ANEW)) as coins:
                for made in coins.make_keys(STEP_COINS):
                    progress(made)
        if inside / NEWEST_FILE in others:
            with closing(opened(read_only=True)) as coins:
                rewrite_promise(inside, coins)


def _extra_by_marks(engine: NativeEngine, layout: str, path: Path) -> str:
    """What FORMAT said before it was lost."""
    with closing(_opened(engine, layout, path, read_only=True)) as coins:
        return "" if coins.state.has_keys is False else EXTRAS[0]


def _opened(
    engine: NativeEngine, layout: str, path: Path, *, read_only: bool, keys: Keys = Keys.KEPT
) -> CoinSet:
    sizes = _INGEST_ENTRIES, _INGEST_ENTRIES, _CACHE_BYTES
    return CoinSet(engine, path / DB, Options(layout, False, read_only, True, *sizes, keys))
