"""RocksDB: sorted runs of many files, which threads of its own merge."""

from cdb.engines.engine import Engine

ENGINE = Engine(
    "rocksdb",
    "rocks_kv",
    "RocksDB",
    "RocksDB and OpenSSL (Debian, Ubuntu: librocksdb-dev and libssl-dev, with g++ and python3-dev;"
    " Homebrew: rocksdb and openssl)",
    good_for="to build on an engine that others maintain, with its tools",
    with_threads=True,
)
NOT_DURABLE = ("*/LOG", "*/LOG.old.*")
"""Its logs for people."""
