"""SQLite: one B-tree file, and a log of changed pages beside it."""

from cdb.contract.limits import WRONG, Limit
from cdb.engines.engine import Engine
from cdb.engines.limits import unverified

ENGINE = Engine(
    "sqlite",
    "sqlite_kv",
    "SQLite",
    "SQLite, OpenSSL and xxHash (Debian, Ubuntu: libsqlite3-dev, libssl-dev and libxxhash-dev,"
    " with g++ and python3-dev; Homebrew: sqlite, openssl and xxhash)",
    with_threads=True,
    writes_maps=True,
    is_asked_for=True,
)
NOT_DURABLE = ("*-shm",)
"""Its index of a -wal, which it makes again."""
_WAL = "SQLite takes damage in a -wal for its torn end: later commits are missing"
LIBRARY_LIMITS = (Limit("*", WRONG, _WAL, "*-wal"),)
"""What it can't do whatever is kept in it."""
LIMITS = (*unverified("SQLite", "db/db/data.sqlite"), *LIBRARY_LIMITS)
