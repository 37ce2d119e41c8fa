"""What SQLite can't do, and a schema whose coins are rows in it: see cdb.contract.limits."""

from cdb.contract.limits import Limit

SQLITE_ROWS = Limit(
    "*",
    r"damage is served: db(/coins\.sqlite)?, .*verify finds it",
    "SQLite has no checksums: where a coin was confirmed and spent, and which there are, verify"
    " alone holds against the blocks",
)
SQLITE_WAL = Limit(
    "*",
    r"damage is served: \S+-wal, ",
    "SQLite takes damage in a -wal for its torn end, and leaves out the commits behind it",
)
OLDER_ROWS = Limit(
    "stale",
    r"damage is served: db/coins\.sqlite, whole-of-step-",
    "the rows are all that counts: put back as they once were, they are the database of then, where"
    " the index covers no more than they have",
)
COIN_ROWS = (SQLITE_ROWS, SQLITE_WAL, OLDER_ROWS)
"""Of any schema whose coins are SQLite rows in a directory, whatever finds them by name."""

SQLITE_NOT_DURABLE = ("*-shm",)
"""SQLite's index of a -wal, which it makes again."""
