"""What is kept about parents, so that hardly any new coin has to be looked for among the old ones.

A coin that is confirmed without its parent's spend is irregular; see batch.py for what follows. A
reward's parent is a number behind 16 fixed bytes: no coin's name begins with them, so it is never
spent, and the numbers count up, so one above all that came before has no child yet.

Nothing here is undone by a rewind: what is kept in vain only costs lookups.
"""

import sqlite3
from collections.abc import Sequence

from cdb.mainnet import REWARD_PREFIX_BYTES, is_reward
from cdb.rows.sqlite import select_in

TABLES = {"irregular_parent": "name", "newest_reward": "prefix"}
CREATE = (
    "CREATE TABLE IF NOT EXISTS irregular_parent(name BLOB PRIMARY KEY) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS newest_reward(prefix BLOB PRIMARY KEY, parent BLOB NOT NULL)",
)


def keep_irregular(connection: sqlite3.Connection, parents: Sequence[bytes]) -> None:
    """Keep the parents of irregular coins."""
    others = [(parent,) for parent in parents if not is_reward(parent)]
    connection.executemany("INSERT OR IGNORE INTO irregular_parent VALUES (?)", others)
    rewards = sorted(filter(is_reward, parents))
    newest = {parent[:REWARD_PREFIX_BYTES]: parent for parent in rewards}
    connection.executemany(
        "INSERT INTO newest_reward VALUES (?, ?)"
        " ON CONFLICT(prefix) DO UPDATE SET parent = max(parent, excluded.parent)",
        newest.items(),
    )


def may_have_child(connection: sqlite3.Connection, parents: Sequence[bytes]) -> set[bytes]:
    """Those of the parents that may have a child."""
    newest = dict(connection.execute("SELECT prefix, parent FROM newest_reward"))
    return {
        parent
        for parent in parents
        if not is_reward(parent) or parent <= newest.get(parent[:REWARD_PREFIX_BYTES], b"")
    }


def may_have_irregular_child(connection: sqlite3.Connection, names: Sequence[bytes]) -> set[bytes]:
    """Those of the coins' names that may have an irregular child."""
    if connection.execute("SELECT 1 FROM irregular_parent LIMIT 1").fetchone() is None:
        return set()
    select = "SELECT name FROM irregular_parent WHERE name"
    return {name for (name,) in select_in(connection, select, names)}
