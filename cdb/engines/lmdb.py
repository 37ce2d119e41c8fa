"""LMDB: one B-tree file, mapped into memory."""

from cdb.engines.engine import Engine

ENGINE = Engine(
    "lmdb",
    "lmdb_kv",
    "LMDB",
    "LMDB, OpenSSL and xxHash (Debian, Ubuntu: liblmdb-dev, libssl-dev and libxxhash-dev, with"
    " g++ and python3-dev; Homebrew: lmdb, openssl and xxhash)",
    good_for="to look up much and load little, while all of it fits in memory",
    writes_maps=True,
)
NOT_DURABLE = ("*/lock.mdb",)
"""Its table of readers."""
