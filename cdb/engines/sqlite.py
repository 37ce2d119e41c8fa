"""SQLite: one B-tree file, and a log of changed pages beside it."""

from cdb.engines.engine import Engine

ENGINE = Engine(
    "sqlite",
    "sqlite_kv",
    "SQLite",
    "SQLite, OpenSSL and xxHash (Debian, Ubuntu: libsqlite3-dev, libssl-dev and libxxhash-dev,"
    " with g++ and python3-dev; Homebrew: sqlite, openssl and xxhash), by `make engine-sqlite` in a"
    " checkout",
    good_for="where any other engine is too much, or a file for every tool",
    with_threads=True,
    writes_maps=True,
)
NOT_DURABLE = ("*-shm",)
"""Its index of a -wal, which it makes again."""
