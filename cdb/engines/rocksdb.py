"""RocksDB: sorted runs of many files, which threads of its own merge."""

from signal import SIGABRT

from cdb.contract.limits import WRONG, Limit
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
_GAP = "RocksDB takes a gap in what was appended last to its manifest for damage"
_TABLE = (
    "RocksDB 7.8 parses a table's properties before it holds them against their checksum, and"
    " believes the lengths in its footer: as Debian builds it, with assertions, or where memory"
    " ends, it ends the process"
)
_LOG = "RocksDB takes damage in its log for the log's torn end: later commits are missing"
_MANIFEST = (
    "RocksDB takes a manifest that is cut, or an older one, for the whole; NEWEST knows only what a"
    " close or a large commit has promised"
)
LIBRARY_LIMITS = (
    Limit("power-unordered", ("fails",), _GAP, "*/MANIFEST-*", error="Corrupt*"),
    Limit("*", ("died",), _TABLE, signal=SIGABRT),
)
"""What it can't do whatever is kept in it."""
LIMITS = (
    Limit("*", WRONG, _LOG, "db/db/*.log"),
    Limit("*", WRONG, _MANIFEST, "db/db/MANIFEST-*"),
    *LIBRARY_LIMITS,
)
