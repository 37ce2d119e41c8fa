"""Whether the coin log of a node's file is there, and what helps where it is not.

What can be read of it decides: it is there where it opens, and the file's rows stand on it. Else it
is lost, and whoever needs it says the same, with an advice that depends on whether a node has run
since activation:

    what is found             no node has run              a node has run
    nothing, another log,     put it back, or revert       put both back from a backup, or sync
    another's database
    damage to what is         repair, or revert            repair, or else the same
    derived from `log`
    damage to `log`           revert                       put both back from a backup, or sync
    another format            what its error says, or      what its error says
                              revert
    damage to the file's      revert                       put both back from a backup, or sync
    rows

"Revert" is `cdb migrate --revert`, which needs no log as long as chia's own table has all coins.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from cdb.contract.printable import shell_word
from cdb.disk.home import FORMAT_FILE, format_at
from cdb.errors import CorruptDatabaseError, DatabaseError, WrongDatabaseError, storage_errors
from cdb.node.log import RESTORE, Log
from cdb.stores.coin_log.check import FORMAT_VERSION, MANIFEST
from cdb.stores.coin_log.schema import coin_log

_SCHEMA, _LOG_FILE = "coin_log", "log"
_MOST_UNINDEXED_BYTES = 1 << 28
"""Of a log that is read without its index: more than one has before its first checkpoint."""


@contextmanager
def log_needed(log_path: Path, file: Path | None, is_unused: Callable[[], bool]) -> Iterator[None]:
    """What opens the log of a file, which is not made here, and holds it against the file's rows.

    is_unused: see ops_table.IS_UNUSED; asked only where something is wrong. Raises
    WrongDatabaseError where the log is not there or is another's, CorruptDatabaseError where it is
    damaged, each with the advice that helps; other errors are those of the block.
    """
    with advice_for_log(log_path, file, is_unused):
        _check_there(log_path, file)
        yield


@contextmanager
def advice_for_log(
    log_path: Path, file: Path | None, is_unused: Callable[[], bool]
) -> Iterator[None]:
    """What reads the rows of a file that say where its log has to be; errors are log_needed()'s."""
    try:
        yield
    except (WrongDatabaseError, CorruptDatabaseError) as error:
        advice = _advice(error, log_path, file, is_unused)
        raise type(error)(error.path, error.problem, advice) from error


def beyond_repair(file: Path | None, *, is_unused: bool) -> str:
    """What helps with damage to a file's log that nothing repairs; is_unused: see log_needed()."""
    if file is None or not is_unused:
        return RESTORE
    revert = f"'cdb migrate --revert {shell_word(file)}' brings chia's own table back"
    return f"{revert}, which has all coins"


def check_first(log_path: Path, check: Callable[[Log], object]) -> None:
    """Have a check look at a log, where one is, before it is opened for writing: that changes any
    log, also another's.

    A large one that has lost its manifest is not looked at: to read it, all of its index would be
    made in memory. Who opens it checks it again.
    """
    log = log_path / _LOG_FILE
    with storage_errors(log):
        if not log.exists():
            return
        is_readable = (log_path / MANIFEST).exists() or log.stat().st_size <= _MOST_UNINDEXED_BYTES
    if is_readable:
        with coin_log(log_path, read_only=True) as found:
            check(cast(Log, found))


def is_gone(log_path: Path) -> bool:
    """Whether nothing of a log is there: no directory, or one that was emptied."""
    if log_path.is_dir():
        return not any(os.path.lexists(log_path / name) for name in (FORMAT_FILE, _LOG_FILE))
    return not os.path.lexists(log_path)


def _check_there(log_path: Path, file: Path | None) -> None:
    if is_gone(log_path):
        raise WrongDatabaseError(
            log_path, f"the coins of {file or 'memory'} are not there", RESTORE
        )
    found = format_at(log_path) if log_path.is_dir() else None
    if found is None and log_path.is_dir():
        raise CorruptDatabaseError(log_path / FORMAT_FILE, "it is missing")
    if found is None or found.schema != _SCHEMA:
        other = "a file" if found is None else f"a database of {found.schema}"
        problem = f"this is not the coin log of {file or 'memory'}, but {other}"
        raise WrongDatabaseError(log_path, problem, RESTORE)
    if found.version == FORMAT_VERSION and not found.extra:
        problem = f"this is not the coin log of {file or 'memory'}: it has no index by puzzle_hash"
        raise WrongDatabaseError(log_path, problem, RESTORE)
    if not os.path.lexists(log_path / _LOG_FILE):
        problem = f"it is missing, and with it the coins of {file or 'memory'}"
        raise WrongDatabaseError(log_path / _LOG_FILE, problem, RESTORE)


def _advice(
    error: DatabaseError, log_path: Path, file: Path | None, is_unused: Callable[[], bool]
) -> str:
    """What helps; of what neither a backup nor a revert is needed for, the error's own."""
    is_damage = isinstance(error, CorruptDatabaseError) and log_path in (
        Path(error.path),
        *Path(error.path).parents,
    )
    is_of_log = Path(error.path) == log_path
    if not is_damage and not is_of_log and error.advice != RESTORE:
        return error.advice
    if Path(error.path) == log_path / _LOG_FILE and error.advice != RESTORE:
        return beyond_repair(file, is_unused=file is not None and is_unused())
    repair = f"'cdb verify {_SCHEMA} --db {shell_word(log_path)} --repair' mends what is derived"
    if file is not None and is_unused():
        revert = beyond_repair(file, is_unused=True)
        if Path(error.path) == file:  # its rows, which no log mends
            return revert
        first = "put it back" if error.advice == RESTORE else error.advice
        return f"{repair if is_damage else first}, or {revert}"
    if not is_damage and error.advice != RESTORE:
        return error.advice
    return f"{repair}; else {RESTORE}" if is_damage else RESTORE
