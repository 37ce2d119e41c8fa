"""Switches a node's file to the log beside it, in one transaction, with the node stopped.

The table coin_record is put aside under another name, and a table of that name and of another form
keeps a plain node from the file: chia makes indexes on it when it starts, of which the first one's
name is free from now on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from sqlite3 import Connection

from cdb.contract.coins import MAX_U32
from cdb.contract.progress import StepBar
from cdb.disk.paths import located
from cdb.node import marked_table, ops_table, own_tables
from cdb.node.log import tip_up_to
from cdb.node.marked_table import MARKED_TABLE, SELECT_ROWS, Sum
from cdb.node.migrate.activated import with_log
from cdb.node.migrate.copying import Copy
from cdb.node.migrate.fast_forward import MARK
from cdb.node.migrate.migration import (
    Migrated,
    Migration,
    Plan,
    Tell,
    first_unverified,
    opened_copy,
    plan_of,
    standing_of,
)
from cdb.node.migrate.migration_file import Standing, forget
from cdb.node.migrate.node_coins import NodeCoins
from cdb.node.migrate.node_file import Keeper, alone_with, keeper_of, transaction
from cdb.node.operation import Operation
from cdb.node.ops_table import FIRST_NUMBER, OLD_TABLE
from cdb.stores.node_table.table import COIN_TABLE

_DROPPED_ENTRIES_A_SECOND = 5_000_000
INTERLOCK_INDEX = "coin_confirmed_index"
_TAKE_MARKED = (
    f"INSERT INTO {MARKED_TABLE} SELECT puzzle_hash, coin_name FROM {OLD_TABLE}"
    f" INDEXED BY coin_spent_index WHERE spent_index = {MARK} ORDER BY puzzle_hash, coin_name"
)


def activate(
    path: str | PathLike[str], *, force: bool = False, tell: Tell, bar: StepBar
) -> Migrated | None:
    """Copy what is missing, verify it unless it was, and switch; None where that was done before.

    Raises DatabaseLockedError while a node runs, and what migrate() raises. Killed, or after a
    power cut, the file is as it was, or switched.
    """
    place = located(path, read_only=False)
    with alone_with(path) as connection:
        if keeper_of(connection, place) is Keeper.LOG:
            with with_log(connection, place) as held:
                forget(held.log_path)
            return None
        tell(_plan(place, NodeCoins(connection), standing_of(place)))
        with opened_copy(place) as copy:
            migration = Migration(copy, lambda: _as_it_is(connection, copy), bar)
            done = migration.run(force=force, only_once=True)
            _switch(connection, copy)
    forget(done.log_path)
    return done


@contextmanager
def _as_it_is(connection: Connection, copy: Copy) -> Iterator[NodeCoins]:
    """The table of a file that nobody else changes."""
    yield NodeCoins(connection, left_out=copy.standing.left_out)


def _plan(path: Path, coins: NodeCoins, standing: Standing) -> Plan:
    total = coins.about()
    copied = total - standing.coins
    plan = plan_of(path, "activate", copied, copied if first_unverified(coins, standing) else total)
    return replace(plan, seconds=plan.seconds + total / _DROPPED_ENTRIES_A_SECOND)


def _switch(connection: Connection, copy: Copy) -> None:
    tip = tip_up_to(copy.log, copy.log_path, MAX_U32)
    newest = copy.log.last_block_index  # may be of a block that only spends, and so is no tip
    height = tip.height if newest is None else newest
    row = Operation(FIRST_NUMBER, height + 1, tip, None)
    with transaction(connection):
        connection.execute(f"DROP INDEX {INTERLOCK_INDEX}")
        connection.execute(f"ALTER TABLE {COIN_TABLE} RENAME TO {OLD_TABLE}")
        connection.execute(ops_table.CREATE_MARK)
        for create in own_tables.KEPT.values():
            connection.execute(create)
        connection.execute(_TAKE_MARKED)
        connection.execute(marked_table.INSERT_SUM, _sum_of_marked(connection).values)
        connection.execute(ops_table.INSERT, (row.number, row.height, row.kind, row.record))


def _sum_of_marked(connection: Connection) -> Sum:
    return Sum.of_parts(
        connection.execute(SELECT_ROWS, each).fetchone() for each in marked_table.RANGES
    )
