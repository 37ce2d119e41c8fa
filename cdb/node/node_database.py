"""A node's SQLite file as any program reads it, beside the node or without one.

Nothing of chia is needed: of a block record, in chia's streamable form, two fields count, and what
is before them has one length or the other.
"""

import sqlite3
import struct
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cdb.errors import CorruptDatabaseError, WrongDatabaseError
from cdb.node import ops_table
from cdb.node.log import RESTORE
from cdb.node.operation import Operation
from cdb.node.ops_table import OPS_TABLE
from cdb.stores.node_table.table import COIN_TABLE, FORMAT_TABLE, KEPT_COLUMN
from cdb.stores.rows.sqlite import Tables, columns_of, tables_of

_PEAK_TABLE, _BLOCKS_TABLE = "current_peak", "full_blocks"
TABLES: Tables = {OPS_TABLE: "number", _PEAK_TABLE: "key", _BLOCKS_TABLE: "header_hash"}

_SELECT_PEAK = (
    f"SELECT height, block_record FROM {_PEAK_TABLE} JOIN {_BLOCKS_TABLE} ON header_hash = hash"
    " WHERE key = 0"
)
# Hashes, height, weight, iterations, signage point; a VDF's output; after another one, or none,
# hashes, numbers and flags up to the height of the transaction block before, and a timestamp or no.
_TO_OPTIONAL_OUTPUT = 32 + 32 + 4 + 16 + 16 + 1 + 100
_OUTPUT = 100
_TO_HEIGHT_BEFORE = 1 + 32 + 32 + 8 + 32 + 32 + 8 + 1 + 1
_HEIGHT_BEFORE = struct.Struct(">I?")


class Coins(Enum):
    """Where a file's coins are; the value is for people."""

    IN_LOG = "in cdb"
    IN_TABLE = "in chia's own table"
    LOST = "in cdb, and the table cdb_ops, which ties them to the file, is lost"
    NOWHERE = "nowhere: this is no node's database, or one that cdb load_blocks made"


@dataclass(frozen=True, slots=True)
class Peak:
    """The node's newest block on the chain, and the newest with transactions up to it."""

    height: int
    transaction_height: int


def coins_of(connection: sqlite3.Connection) -> Coins:
    """Where the coins are. Raises sqlite3.Error."""
    if OPS_TABLE in tables_of(connection):
        return Coins.IN_LOG
    if FORMAT_TABLE in tables_of(connection):
        return Coins.NOWHERE
    columns = columns_of(connection, COIN_TABLE)
    if KEPT_COLUMN in columns:
        return Coins.LOST
    return Coins.IN_TABLE if "coin_name" in columns else Coins.NOWHERE


def check_in_log(connection: sqlite3.Connection, file: Path) -> None:
    """Raise WrongDatabaseError for a file whose coins are not in a log."""
    match coins_of(connection):
        case Coins.IN_LOG:
            return
        case Coins.LOST:
            raise WrongDatabaseError(file, "its table cdb_ops is lost", RESTORE)
        case Coins.IN_TABLE:
            problem = "its coins are in chia's own table, not in cdb"
            raise WrongDatabaseError(file, f"{problem}; use chia's commands for it")
        case Coins.NOWHERE:
            problem = "this is no node's database, or one that cdb load_blocks made"
            raise WrongDatabaseError(file, f"{problem}; name a node's")


def is_unused(connection: sqlite3.Connection) -> bool:
    """See ops_table.IS_UNUSED. Raises sqlite3.Error."""
    [(value,)] = connection.execute(ops_table.IS_UNUSED)
    return bool(value)


def operations_of(connection: sqlite3.Connection, file: Path) -> list[Operation]:
    """The operations in cdb_ops. Raises sqlite3.Error and CorruptDatabaseError."""
    return ops_table.checked(connection.execute(ops_table.SELECT), file)


def peak_of(connection: sqlite3.Connection, file: Path) -> Peak | None:
    """The peak; None where there is none yet. Raises sqlite3.Error and CorruptDatabaseError."""
    if not {_PEAK_TABLE, _BLOCKS_TABLE} <= tables_of(connection):
        return None
    row = connection.execute(_SELECT_PEAK).fetchone()
    if row is None:
        return None
    height, record = row
    try:
        has_output = record[_TO_OPTIONAL_OUTPUT]
        offset = _TO_OPTIONAL_OUTPUT + _TO_HEIGHT_BEFORE + (_OUTPUT if has_output else 0)
        before, is_transaction_block = _HEIGHT_BEFORE.unpack_from(record, offset)
    except (struct.error, IndexError, TypeError) as error:
        problem = f"the record of block {height} is damaged: {error}"
        raise CorruptDatabaseError(file, problem, RESTORE) from error
    return Peak(height, height if is_transaction_block else before)
