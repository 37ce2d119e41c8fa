"""RocksDB: sorted runs of many files, which threads of its own merge."""

from cdb.contract.limits import DAMAGES, Limit
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
TABLE_LIMITS = (
    Limit(
        "power-unordered",
        "it fails: .* in file .*/MANIFEST-",
        "RocksDB takes a gap in what was appended last to its manifest for damage",
    ),
    *(
        Limit(
            damaged,
            "^its process ends with -6: ",
            "RocksDB 7.8 parses a table's properties before it holds them against their checksum,"
            " and as Debian builds it, with assertions, it ends the process",
        )
        for damaged in DAMAGES
    ),
)
"""Of any schema that has tables of RocksDB's."""
LIMITS = (
    Limit(
        "*",
        r"damage is served: db/db/\d+\.log, ",
        "RocksDB takes damage in its log for the log's torn end, and leaves out the commits behind"
        " it",
    ),
    Limit(
        "*",
        r"damage is served: db/db/MANIFEST-\d+, ",
        "RocksDB takes a manifest that is cut, or an older one, for the whole; NEWEST knows only"
        " what a close or a large commit has promised",
    ),
    *TABLE_LIMITS,
)
"""Of a coin set in it."""
