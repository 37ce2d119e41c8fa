"""Brings a node's own table back, with the node stopped.

While nothing was done to the coins since activation, the table that was put aside is whole, and
gets its name back. Else it is dropped, for the log knows better and its space is needed, and a new
one is written from the log. In one last transaction that one takes its name, once it is verified.
Until then the node runs on the log; killed at any moment, the same call goes on.
"""

import sqlite3
from os import PathLike
from pathlib import Path

from cdb.chia.marked_table import MARKED_TABLE
from cdb.chia.ops_table import OPS_TABLE
from cdb.disk.paths import located
from cdb.errors import InvariantError
from cdb.migrate.activated import Activated, activated
from cdb.migrate.activation import FIRST_NUMBER, INTERLOCK_INDEX
from cdb.migrate.dropping import drop_tables, point_temporary_files_at, used_bytes
from cdb.migrate.migration import Plan, Tell, checked_plan
from cdb.migrate.new_table import NewTable
from cdb.migrate.node_coins import NodeCoins
from cdb.migrate.node_file import MARKED_INDEX, NEW_TABLE, NOTE_TABLE, OLD_TABLE, transaction
from cdb.migrate.standing import Standing
from cdb.migrate.verifying import TableDigest, digest_of_log
from cdb.node.table import COIN_TABLE, NODE_INDEXES, create_index
from cdb.progress import StepBar
from cdb.rows.sqlite import tables_of

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


def revert(path: str | PathLike[str], *, tell: Tell, bar: StepBar) -> Path:
    """Bring the table back, verified; gives the path of the log, which is a copy from then on.

    Raises as activated() does, InvariantError, or StorageError where there is no room.
    """
    place = located(path, read_only=False)
    with activated(path) as held:
        point_temporary_files_at(place.parent)
        is_unused = held.number == FIRST_NUMBER and OLD_TABLE in tables_of(held.connection)
        tell(_plan(held, is_unused=is_unused))
        if is_unused:
            # The old table may hold what no chain has: another migration counts that again.
            Standing().save(held.log_path)
            _make_indexes(held.connection, OLD_TABLE, bar)  # which a drop that was killed has taken
            _take_back(held.connection)
        else:
            drop_tables(held.connection, bar, OLD_TABLE)
            _write_again(held, bar)
        return held.log_path


def _note(held: Activated) -> None:
    """The log is a copy again, with which another migration goes on. Noted before the table has its
    name: until then nobody asks."""
    [(coins,)] = held.connection.execute(f"SELECT count(*) FROM {NEW_TABLE}").fetchall()
    newest = held.log.last_block_index
    Standing(-1 if newest is None else newest, coins).save(held.log_path)


def _plan(held: Activated, *, is_unused: bool) -> Plan:
    with_log = (held.log_path / "log").stat().st_size
    coins = with_log // _LOG_BYTES_A_COIN
    if is_unused:
        entries = coins * len(_lacking_indexes(held.connection, OLD_TABLE))
        seconds = coins / 1e6 + entries / _INDEXED_COINS_A_SECOND
        needed = coins * 30 + entries * _WAL_BYTES_A_COIN
        return Plan.at(held.path, "take the old table back", seconds, needed)
    file_bytes = held.path.stat().st_size
    free_inside = file_bytes - used_bytes(held.connection)
    needed = max(0, coins * _TABLE_BYTES_A_COIN - free_inside) + coins * _WAL_BYTES_A_COIN
    plan = Plan.at(held.path, "write the table", coins / _COINS_A_SECOND, needed)
    return plan if OLD_TABLE in tables_of(held.connection) else checked_plan(held.path, plan)


def _take_back(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        ours = {COIN_TABLE, OPS_TABLE, MARKED_TABLE, NEW_TABLE, NOTE_TABLE}
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
            for name in {COIN_TABLE, OPS_TABLE, MARKED_TABLE, NOTE_TABLE} & tables_of(connection):
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
    """Hold the table against the log, before anybody else can see it."""
    coins = NodeCoins(held.connection)
    last = coins.newest()
    table = TableDigest(held.log, last)
    with bar("verify log") as progress:
        log = digest_of_log(held.log, progress)
    with bar("verify table") as progress:
        table.add(coins.chunks(0, last, with_spends=False), progress)
    if table.digest.hex() != log.hex() or table.orphans:
        problem = f"the table that was written has not got the coins of {held.log_path}"
        raise InvariantError(f"{held.path}: {problem}; check the disk, and revert again")
