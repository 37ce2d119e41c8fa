"""The tables that cdb makes in a node's file, and that nothing else may have their names there."""

from collections.abc import Iterable
from pathlib import Path

from cdb.errors import WrongDatabaseError
from cdb.node import marked_table, ops_table
from cdb.node.ops_table import OLD_TABLE, OPS_TABLE

NEW_TABLE, NOTE_TABLE = "cdb_reverted", "cdb_reverting"
"""The table that a revert writes, and what it notes of it."""
KEPT: dict[str, str] = {OPS_TABLE: ops_table.CREATE, **marked_table.CREATE}
"""Of a file whose coins are in a log: how each of them is made."""
NAMES = {OLD_TABLE, NEW_TABLE, NOTE_TABLE, *KEPT}
SELECT = "SELECT type, name, tbl_name, sql FROM sqlite_master"


def check(rows: Iterable[tuple[str, str, str, str | None]], file: Path) -> None:
    """Raise WrongDatabaseError where other things than these tables have their names, for which
    SQLite takes them in capitals, too; or where a trigger changes what is written to one.

    rows: what SELECT gives.
    """
    for kind, name, table, created in rows:
        is_own = kind == "table" and name in NAMES and created == KEPT.get(name, created)
        is_trigger = kind == "trigger" and table.lower() in NAMES
        if is_trigger or (name.lower() in NAMES and not is_own):
            problem = "changes a table of cdb's; drop it" if is_trigger else _TAKEN
            raise WrongDatabaseError(file, f"its {kind} {name} {problem}")


_TAKEN = "has a name that cdb needs; rename it"
