"""A node's database, made and changed as a node does it; without chia."""

import sqlite3
from pathlib import Path
from typing import Any

from cdb.node.example import ExampleNode

_ROWS = (
    "SELECT coin_name, confirmed_index, spent_index, coinbase, puzzle_hash, coin_parent, amount,"
    " timestamp FROM coin_record ORDER BY coin_name"
)
_INDEXES = "SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'coin_record'"


class MadeNode(ExampleNode):
    """One that goes back, too."""

    def roll_back(self, height: int) -> None:
        """Take away the blocks above a height, in one transaction."""
        self.connection.execute("BEGIN")
        self.connection.execute("DELETE FROM coin_record WHERE confirmed_index > ?", (height,))
        self.connection.execute(
            "UPDATE coin_record SET spent_index = coinbase = 0 AND EXISTS (SELECT 1 FROM"
            " coin_record AS parent WHERE parent.coin_name = coin_record.coin_parent"
            " AND parent.puzzle_hash = coin_record.puzzle_hash"
            " AND parent.amount = coin_record.amount AND parent.spent_index > 0)"
            " WHERE spent_index > ?",
            (height,),
        )
        self.connection.execute("UPDATE coin_record SET spent_index = -1 WHERE spent_index = 1")
        self.connection.execute("COMMIT")


def rows_of(path: Path) -> list[tuple[Any, ...]]:
    """All of coin_record, by name."""
    return _fetched(path, _ROWS)


def indexes_of(path: Path) -> set[str]:
    """The names of its indexes."""
    return {name for (name,) in _fetched(path, _INDEXES)}


def _fetched(path: Path, select: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    connection.text_factory = bytes if select is _ROWS else str  # where a text is no text
    try:
        return connection.execute(select).fetchall()
    finally:
        connection.close()
