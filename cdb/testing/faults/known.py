"""What engines are known not to do. The trials try it all the same, and report it as known.

What is beneath a schema, by these names, is in the limits of its SchemaSpec.
"""

import signal
from collections.abc import Mapping

from cdb.contract.durability import Durability
from cdb.contract.limits import WRONG, Limit

_WHOLE = "whole-of-step-*"
_SQLITE = (
    *(
        Limit(
            "*",
            ("served",),
            "SQLite has no checksums: where a coin was confirmed and spent, and which there are,"
            " verify alone holds against the blocks",
            file=file,
        )
        for file in ("db", "db/coins.sqlite")
    ),
    Limit(
        "*",
        WRONG,
        "SQLite takes damage in a -wal for its torn end, and leaves out the commits behind it",
        file="*-wal",
    ),
)
_ROCKSDB = (
    Limit(
        "power-unordered",
        ("fails",),
        "RocksDB takes a gap in what was appended last to its manifest for damage",
        file="*/MANIFEST-*",
        error="CorruptDatabaseError",
    ),
    Limit(
        "*",
        ("died",),
        "RocksDB 7.8 parses a table's properties before it holds them against their checksum, and"
        " as Debian builds it, with assertions, it ends the process",
        signal=signal.SIGABRT,
    ),
)
_LMDB = (
    Limit(
        "*",
        ("served",),
        "LMDB has no checksums: a page of its B-trees that leads elsewhere hides keys, until verify"
        " asks for all that the blocks hold",
        file="db/db/data.mdb",
    ),
    Limit(
        "*",
        ("died",),
        "LMDB believes what a page says of itself, and reads where that leads",
        signal=signal.SIGSEGV,
    ),
    Limit(
        "stale",
        WRONG,
        "one file is all that there is: put back as it once was, it is the database of then, unless"
        " NEWEST has promised more",
        file="db/db/data.mdb",
        change=_WHOLE,
    ),
    Limit(
        "*",
        ("noticed",),
        "LMDB makes no second call for the rest, but refuses: its error costs nothing that was"
        " flushed",
        file="db/db/data.mdb",
    ),
)

KNOWN: Mapping[str, tuple[Limit, ...]] = {
    "SQLite": _SQLITE,
    "coin rows": (
        *_SQLITE,
        Limit(
            "stale",
            WRONG,
            "the rows are all that counts: put back as they once were, they are the database of"
            " then, where the index covers no more than they have",
            file="db/coins.sqlite",
            change=_WHOLE,
        ),
    ),
    "SQLite index": (
        Limit(
            "*",
            ("served",),
            "SQLite has no checksums: a name that is not found seems to be nobody's",
            file="db/index/lookup.sqlite",
        ),
    ),
    "derived index": (
        Limit(
            "stale",
            ("overlooked",),
            "an older index covers less, and the rest comes from the rows or the log",
            file="db/*/manifest",
            change="whole*",
        ),
    ),
    "promise": tuple(
        Limit(
            "stale",
            ("overlooked",),
            "an older one promises less, and that still holds; for a closed coin_log the manifest"
            " catches it",
            file=promise,
        )
        for promise in ("db/acked", "db/NEWEST")
    ),
    "RocksDB": _ROCKSDB,
    "coin set in RocksDB": (
        Limit(
            "*",
            WRONG,
            "RocksDB takes damage in its log for the log's torn end, and leaves out the commits"
            " behind it",
            file="db/db/*.log",
        ),
        Limit(
            "*",
            WRONG,
            "RocksDB takes a manifest that is cut, or an older one, for the whole; NEWEST knows"
            " only what a close or a large commit has promised",
            file="db/db/MANIFEST-*",
        ),
        *_ROCKSDB,
    ),
    "coin set in LMDB": _LMDB,
    "coin_log": (
        Limit(
            "*",
            ("unseen",),
            "at PROCESS nothing says how much of the log is durable: where a crash left it open,"
            " damage is taken for its torn end",
            file="db/log",
            durability=Durability.PROCESS,
        ),
        Limit(
            "fuzz",
            WRONG,
            "the same, and of several changes at once verify finds another",
            file="db/log",
            durability=Durability.PROCESS,
        ),
    ),
    "replaced file": tuple(
        Limit(
            after_a_power_cut,
            ("fails",),
            "a power cut may take all of a file that is replaced without a sync; it is refused",
            file="db",
            error="[CW]*DatabaseError",
            durability=Durability.PROCESS,
        )
        for after_a_power_cut in ("power-*", "cut-*", "e*", "kill-reopen")
    ),
}
"""By what is beneath a schema."""
