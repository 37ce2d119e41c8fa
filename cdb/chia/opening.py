"""The one follower of a DBWrapper2: found, or made beside its SQLite file."""

import asyncio
import atexit
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary, finalize

from cdb.chia import marked_table, ops_table
from cdb.chia.follower import Follower
from cdb.chia.log import RESTORE, Log, catch_up, log_path_of, lost_log, root_of, sync_wal
from cdb.chia.marked_table import Marked
from cdb.chia.operation import Operation
from cdb.chia.questions import all_marked
from cdb.disk.paths import located
from cdb.durability import Durability
from cdb.errors import WrongDatabaseError
from cdb.node.table import LOG_SUFFIX
from cdb.schemas import coin_log

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
        is_new = not await ops_table.lock(connection)
        found: Follower | None = getattr(wrapper, _ATTRIBUTE, None)
        if found is not None and not is_new:
            return found
        file = await _file_of(connection)
        log_path = _log_path(file)
        former = _open.pop(log_path, None)
        if former is not None:
            former.close()
        if is_new and await ops_table.is_marked(connection):
            raise WrongDatabaseError(file or "memory", "its table cdb_ops is lost", RESTORE)
        if (is_new or interlock) and await ops_table.has_coins(connection):
            problem = "its coins are in chia's own table; 'cdb migrate' moves them"
            raise WrongDatabaseError(file or "memory", problem)
        if not is_new and not log_path.exists():
            [(is_unused,)] = await ops_table.fetched(connection, ops_table.IS_UNUSED)
            raise lost_log(file or Path("memory"), is_unused=bool(is_unused))
        log = await _in_thread(partial(_log_at, log_path, file))
        try:
            rows = await _rows(connection, log, log_path, file, is_new=is_new)
            await _in_thread(partial(catch_up, log, log_path, file, rows))
            if not await marked_table.is_there(connection):
                await marked_table.create(connection, await _in_thread(partial(_marked, log)))
            if interlock:
                await ops_table.mark(connection)
        except BaseException:
            log.close()
            _remove(log_path, file)
            raise
    follower = Follower(log, log_path, file, rows)
    sync_wal(file)  # no power cut leaves a log to a file that knows nothing of it
    setattr(wrapper, _ATTRIBUTE, follower)
    _open[log_path] = follower
    finalize(wrapper, follower.end).atexit = False
    return follower


async def _file_of(connection: Any) -> Path | None:
    rows = await ops_table.fetched(connection, "PRAGMA database_list")
    name = next(file for _, schema, file in rows if schema == "main")
    return located(name, read_only=True) if name else None


def _log_path(file: Path | None) -> Path:
    if file is None:
        return Path(tempfile.mkdtemp(prefix="cdb-")) / f"memory{LOG_SUFFIX}"
    return log_path_of(file)


async def _rows(
    connection: Any, log: Log, log_path: Path, file: Path | None, *, is_new: bool
) -> list[Operation]:
    """What the file says; to a new file a log must be new, too."""
    if not is_new:
        return await ops_table.operations(connection, file)
    if log.last_block_index is not None:
        problem = "it holds coins, and the SQLite file beside it is a new one; move it away"
        raise WrongDatabaseError(log_path, problem)
    return await ops_table.create(connection, root_of(log_path))


def _log_at(log_path: Path, file: Path | None) -> Log:
    durability = Durability.NONE if file is None else Durability.POWER
    try:
        log: Log = coin_log.indexed(log_path, durability=durability)
    except BaseException:
        _remove(log_path, file)
        raise
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
