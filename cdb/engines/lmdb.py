"""LMDB: one B-tree file, mapped into memory."""

from cdb.contract.limits import DAMAGES, Limit
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
LIMITS = (
    Limit(
        "*",
        r"damage is served: db/db/data\.mdb, .*verify finds it",
        "LMDB has no checksums: a page of its B-trees that leads elsewhere hides keys, until verify"
        " asks for all that the blocks hold",
    ),
    *(
        Limit(
            damaged,
            "^its process ends with -11: ",
            "LMDB believes what a page says of itself, and reads where that leads",
        )
        for damaged in DAMAGES
    ),
    Limit(
        "stale",
        r"damage is served: db/db/data\.mdb, whole-of-step-",
        "one file is all that there is: put back as it once was, it is the database of then, unless"
        " NEWEST has promised more",
    ),
    *(
        Limit(
            trial,
            r"it is noticed: .*data\.mdb: "
            "(MDB_INVALID|Input/output error|Interrupted system call|the disk is full)",
            "LMDB makes no second call for the rest, but refuses: its error costs nothing that was"
            " flushed",
        )
        for trial in ("short*", "eintr")
    ),
)
"""Of a coin set in it."""
