"""Brings a node's own table back, with the node stopped.

While nothing was done to the coins since activation, the table that was put aside is whole, and
gets its name back, whatever has become of the log; where that is sound, both have to agree. Else it
is dropped, for the log knows better and its space is needed, and a new one is written from the log.
In one last transaction that one takes its name, once it is verified. Until then the node runs on
the log; killed at any moment, the same call goes on.
"""

import sqlite3
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from cdb.contract.printable import shell_word
from cdb.contract.progress import StepBar
from cdb.errors import (
    CdbError,
    DatabaseError,
    DatabaseLockedError,
    InvariantError,
    WrongDatabaseError,
)
from cdb.node import own_tables
from cdb.node.log import RESTORE, log_path_of
from cdb.node.lost_log import is_gone
from cdb.node.migrate.activated import Activated, active_file, with_log
from cdb.node.migrate.activation import INTERLOCK_INDEX
from cdb.node.migrate.dropping import drop_tables, point_temporary_files_at, used_bytes
from cdb.node.migrate.migration import VERIFIED_COINS_A_SECOND, Plan, Tell, checked_plan
from cdb.node.migrate.migration_file import Standing
from cdb.node.migrate.new_table import NewTable
from cdb.node.migrate.node_coins import NodeCoins, rows_about
from cdb.node.migrate.node_file import MARKED_INDEX, transaction
from cdb.node.migrate.verifying import TableDigest, digest_of_log
from cdb.node.node_database import is_unused
from cdb.node.ops_table import OLD_TABLE
from cdb.node.own_tables import NEW_TABLE, NOTE_TABLE
from cdb.stores.coin_log.binding import on_damage
from cdb.stores.node_table.table import COIN_TABLE, NODE_INDEXES, create_index
from cdb.stores.rows.sqlite import tables_of

_LOG_BYTES_A_COIN = 55
_TABLE_BYTES_A_COIN = 320
_WAL_BYTES_A_COIN = 70
"""An index is made in one transaction, and until its end the -wal holds it."""
_COINS_A_SECOND = 20_000
_INDEXED_COINS_A_SECOND = 500_000
_MARKED_INDEX = (
    f"CREATE INDEX IF NOT EXISTS {MARKED_INDEX}"
    " ON {table}(puzzle_hash, spent_index) WHERE spent_index = -1"
)


@dataclass(frozen=True, slots=True)
class Reverted:
    """problem: why the log is no copy that another migration goes on with; None where it is one."""

    log_path: Path
    problem: str | None = None


def revert(path: str | PathLike[str], *, tell: Tell, bar: StepBar) -> Reverted:
    """Bring the table back, verified; the log is a copy from then on.

    Raises as active_file() does, DatabaseLockedError where somebody else has the log,
    InvariantError, or StorageError where there is no room; WrongDatabaseError where the old table
    and a sound log have other coins. While nothing was done to the coins the
    log may be damaged, another's or lost; else it raises as with_log() does.
    """
    with active_file(path) as (connection, place):
        point_temporary_files_at(place.parent)
        if is_unused(connection):
            tell(_plan_to_take_back(connection, place))
            _make_indexes(connection, OLD_TABLE, bar)  # which a drop that was killed has taken
            return Reverted(log_path_of(place), _take_back(connection, place, bar))
        _check_coins(connection, place)
        with with_log(connection, place) as held:
            tell(_plan(held))
            drop_tables(connection, bar, OLD_TABLE)
            _write_again(held, bar)
            return Reverted(held.log_path)


class _OtherCoinsError(WrongDatabaseError):
    """A log and the old table beside it are sound, and have not got the same coins."""


def _take_back(connection: sqlite3.Connection, path: Path, bar: StepBar) -> str | None:
    """Give the old table its name, and note that the log is a copy, or say why it is none.

    The log is not needed. Raises _OtherCoinsError, and nothing has happened, where it is sound and
    the table has other coins: one of them was changed, and the other must not follow it.
    """
    log_path = log_path_of(path)
    problem = f"{log_path} is not there, and was not needed"
    if not is_gone(log_path):
        try:
            with with_log(connection, path) as held, transaction(connection):
                _name_old(connection)
                if _digest_if_same(held, bar) is None:
                    raise _OtherCoinsError(path, *_disagreement(path, log_path))
                # The old table may hold what no chain has: another migration counts that again.
                Standing().save(log_path)
            return None
        except (DatabaseLockedError, _OtherCoinsError):
            raise
        except CdbError as error:
            advice = "move it away before you migrate again"
            problem = f"{log_path} was not needed; {advice}: {_told(error)}"
    with transaction(connection):
        _name_old(connection)
    return problem


def _disagreement(path: Path, log_path: Path) -> tuple[str, str]:
    """The problem, and the advice: one of the two has changed, and nobody knows which."""
    problem = f"its old table, {OLD_TABLE}, and {log_path} have not got the same coins"
    drop, revert = (f"cdb migrate --{each} {shell_word(path)}" for each in ("drop", "revert"))
    from_log = f"'{drop}' and then '{revert}' write the table from the log"
    return problem, f"{from_log}; to keep the old table move the log away, and '{revert}' again"


def _told(error: CdbError) -> str:
    """Without its advice, which is for whoever needs the log."""
    return f"{error.path}: {error.problem}" if isinstance(error, DatabaseError) else str(error)


def _check_coins(connection: sqlite3.Connection, path: Path) -> None:
    """Raise WrongDatabaseError, which says what is lost, where the log is not there."""
    log_path = log_path_of(path)
    if not is_gone(log_path) or OLD_TABLE not in tables_of(connection):
        return
    newest = f"SELECT confirmed_index FROM {OLD_TABLE} ORDER BY rowid DESC LIMIT 1"
    height = next(iter(connection.execute(newest)), (-1,))[0]
    problem = (
        f"the coins of {path} are not there, and a node has run since activation: what blocks did"
        f" to coins above height {height} is lost"
    )
    raise WrongDatabaseError(log_path, problem, RESTORE)


def _note(held: Activated) -> None:
    """The log is a copy again, with which another migration goes on. Noted before the table has its
    name: until then nobody asks."""
    [(coins,)] = held.connection.execute(f"SELECT count(*) FROM {NEW_TABLE}").fetchall()
    newest = held.log.last_block_index
    Standing(-1 if newest is None else newest, coins).save(held.log_path)


def _plan_to_take_back(connection: sqlite3.Connection, path: Path) -> Plan:
    coins = rows_about(connection, OLD_TABLE)
    entries = coins * len(_lacking_indexes(connection, OLD_TABLE))
    seconds = coins / VERIFIED_COINS_A_SECOND + entries / _INDEXED_COINS_A_SECOND
    needed = coins * 30 + entries * _WAL_BYTES_A_COIN
    return Plan.at(path, "take the old table back", seconds, needed)


def _plan(held: Activated) -> Plan:
    coins = (held.log_path / "log").stat().st_size // _LOG_BYTES_A_COIN
    file_bytes = held.path.stat().st_size
    free_inside = file_bytes - used_bytes(held.connection)
    needed = max(0, coins * _TABLE_BYTES_A_COIN - free_inside) + coins * _WAL_BYTES_A_COIN
    plan = Plan.at(held.path, "write the table", coins / _COINS_A_SECOND, needed)
    return plan if OLD_TABLE in tables_of(held.connection) else checked_plan(held.path, plan)


def _name_old(connection: sqlite3.Connection) -> None:
    """Give the old table its name, in place of all that activation has made."""
    ours = {COIN_TABLE, *own_tables.KEPT, NEW_TABLE, NOTE_TABLE}
    for table in ours & tables_of(connection):
        connection.execute(f"DROP TABLE {table}")
    _name(connection, OLD_TABLE)


def _write_again(held: Activated, bar: StepBar) -> None:
    connection = held.connection
    table = NewTable(connection, held.log)
    table.begin(held.tip)
    with bar("write") as progress:
        table.fill(progress)
    _make_indexes(connection, NEW_TABLE, bar)
    _note(held)
    try:
        with transaction(connection):
            for name in {COIN_TABLE, *own_tables.KEPT, NOTE_TABLE} & tables_of(connection):
                connection.execute(f"DROP TABLE {name}")
            _name(connection, NEW_TABLE)
            _verify(held, bar)
    except InvariantError:
        drop_tables(connection, bar, NOTE_TABLE, NEW_TABLE)  # the next call writes it again
        raise


def _make_indexes(connection: sqlite3.Connection, table: str, bar: StepBar) -> None:
    """Make the indexes of a node's table that this one lacks, but for the one that _name() makes.

    With them, and first, comes the one of marks, which a drop takes last: where only that is
    lacking it never was there.
    """
    lacking = _lacking_indexes(connection, table)
    if lacking:
        with transaction(connection):
            connection.execute(_MARKED_INDEX.format(table=table))
    for name in lacking:
        with bar(name), transaction(connection):
            connection.execute(create_index(name, table))


def _lacking_indexes(connection: sqlite3.Connection, table: str) -> list[str]:
    query = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = ?"
    there = {name for (name,) in connection.execute(query, (table,))}
    return sorted(NODE_INDEXES.keys() - there - {INTERLOCK_INDEX})


def _name(connection: sqlite3.Connection, table: str) -> None:
    """Give a table the name of a node's, and the index that activation has taken from it."""
    connection.execute(f"ALTER TABLE {table} RENAME TO {COIN_TABLE}")
    connection.execute(create_index(INTERLOCK_INDEX))


def _verify(held: Activated, bar: StepBar) -> None:
    """Hold the table that was written against the log, before anybody else can see it."""
    table = _digest_if_same(held, bar)
    if table is None or table.orphans:
        problem = f"the table that was written has not got the coins of {held.log_path}"
        raise InvariantError(f"{held.path}: {problem}; check the disk, and revert again")


def _digest_if_same(held: Activated, bar: StepBar) -> TableDigest | None:
    """The digest of the table, where it has each coin as the log has it, and no other."""
    coins = NodeCoins(held.connection)
    last = coins.newest()
    table = TableDigest(held.log, last)
    with bar("verify log") as progress:
        log = digest_of_log(held.log, progress, on_damage(held.log_path))
    with bar("verify table") as progress:
        table.add(coins.chunks(0, last, with_spends=False), progress)
    return table if table.digest.hex() == log.hex() else None
