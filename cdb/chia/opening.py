"""The one follower of a DBWrapper2: found, or made beside its SQLite file."""

import asyncio
import atexit
import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary, finalize

from cdb.chia.questions import all_marked
from cdb.contract.durability import Durability
from cdb.disk.paths import located
from cdb.errors import WrongDatabaseError
from cdb.node import marked_table, ops_table, own_tables
from cdb.node.follower import Follower
from cdb.node.log import (
    RESTORE,
    Log,
    catch_up,
    fitting_effect,
    log_path_of,
    root_of,
    sync_wal,
)
from cdb.node.lost_log import check_first, log_needed
from cdb.node.marked_table import Marked
from cdb.schemas import coin_log
from cdb.stores.node_table.table import LOG_SUFFIX

logger = logging.getLogger(__name__)
T = TypeVar("T")

_ATTRIBUTE = "cdb_follower"
_open: WeakValueDictionary[Path, Follower] = WeakValueDictionary()


@atexit.register
def close_all() -> None:
    """Close what is open in this process, once nobody uses it any more."""
    for follower in [*_open.values()]:
        follower.close()


async def follower_of(wrapper: Any, *, interlock: bool) -> Follower:
    """The follower of a wrapper, which all its stores share; it is closed when the wrapper goes.

    One that follows the same file for another wrapper ends: nobody told it that that was closed.
    interlock: keep a plain node from starting on the file.
    """
    async with wrapper.writer_maybe_transaction() as connection:
        # Nobody else adds a row from now on.
        is_new = not await _lock(connection)
        found: Follower | None = getattr(wrapper, _ATTRIBUTE, None)
        if found is not None and not is_new:
            return found
        file = await _file_of(connection)
        await _check_own(connection, file)
        log_path = _log_path(file)
        former = _open.pop(log_path, None)
        if former is not None:
            former.close()
        if is_new and await ops_table.is_marked(connection):
            raise WrongDatabaseError(file or "memory", "its table cdb_ops is lost", RESTORE)
        if (is_new or interlock) and await ops_table.has_coins(connection):
            problem = "its coins are in chia's own table; 'cdb migrate' moves them"
            raise WrongDatabaseError(file or "memory", problem)
        log: Log | None = None
        try:
            async with _log_needed(connection, log_path, file, is_new=is_new):
                rows = [] if is_new else await ops_table.operations(connection, file)
                fits = partial(fitting_effect, path=log_path, file=file, rows=rows)
                is_new_too = partial(_check_new, log_path=log_path)
                await _in_thread(partial(check_first, log_path, is_new_too if is_new else fits))
                log = await _in_thread(partial(_log_at, log_path, file))
                if is_new:
                    _check_new(log, log_path)
                    rows = await ops_table.create(connection, root_of(log_path))
                await _in_thread(partial(catch_up, log, log_path, file, rows))
            if not await marked_table.is_whole(connection):
                if not is_new:
                    logger.warning(f"{file}: its table cdb_marked lacks rows; it is made again")
                await marked_table.make(connection, await _in_thread(partial(_marked, log)))
            if interlock:
                await ops_table.mark(connection)
        except BaseException:
            if log is not None:
                log.close()
            _remove(log_path, file)
            raise
    follower = Follower(log, log_path, file, rows)
    sync_wal(file)  # no power cut leaves a log to a file that knows nothing of it
    setattr(wrapper, _ATTRIBUTE, follower)
    _open[log_path] = follower
    finalize(wrapper, follower.end).atexit = False
    return follower


async def _lock(connection: Any) -> bool:
    """See ops_table.lock(). Raises WrongDatabaseError where something else has the table's name."""
    try:
        return await ops_table.lock(connection)
    except sqlite3.OperationalError:
        await _check_own(connection, await _file_of(connection))
        raise


async def _check_own(connection: Any, file: Path | None) -> None:
    own_tables.check(await ops_table.fetched(connection, own_tables.SELECT), file or Path("memory"))


async def _file_of(connection: Any) -> Path | None:
    # As bytes: a file's name need not be text.
    query = "SELECT CAST(file AS BLOB) FROM pragma_database_list WHERE name = 'main'"
    [(name,)] = await ops_table.fetched(connection, query)
    return located(os.fsdecode(name), read_only=True) if name else None


def _log_path(file: Path | None) -> Path:
    if file is None:
        return Path(tempfile.mkdtemp(prefix="cdb-")) / f"memory{LOG_SUFFIX}"
    return log_path_of(file)


def _check_new(log: Log, log_path: Path) -> None:
    """To a new file a log must be new, too."""
    if log.last_block_index is not None:
        problem = "it holds coins, and the SQLite file beside it is a new one; move it away"
        raise WrongDatabaseError(log_path, problem)


@asynccontextmanager
async def _log_needed(
    connection: Any, log_path: Path, file: Path | None, *, is_new: bool
) -> AsyncIterator[None]:
    """What opens the log; one that a file with rows needs is not made here."""
    if is_new:
        yield
        return
    [(is_unused,)] = await ops_table.fetched(connection, ops_table.IS_UNUSED)
    with log_needed(log_path, file, lambda: bool(is_unused)):
        yield


def _log_at(log_path: Path, file: Path | None) -> Log:
    durability = Durability.NONE if file is None else Durability.POWER
    log: Log = coin_log.indexed(log_path, durability=durability)
    return log


def _remove(log_path: Path, file: Path | None) -> None:
    if file is None:
        shutil.rmtree(log_path.parent, ignore_errors=True)


def _marked(log: Log) -> list[Marked]:
    """The coins of a log that may be fast-forwarded. They are few, of however many."""
    return [each for part in all_marked(log) for each in part]


async def _in_thread(call: Callable[[], T]) -> T:
    """Run a call to its end, even if nobody waits for it any more."""
    return await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, call))
