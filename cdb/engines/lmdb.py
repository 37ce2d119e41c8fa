"""LMDB: one B-tree file, mapped into memory."""

from signal import SIGSEGV

from cdb.contract.limits import Limit
from cdb.engines.engine import Engine
from cdb.engines.limits import by_halves, unverified

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
_DIES = "LMDB believes what a page says of itself, and reads where that leads"
LIMITS = (
    *unverified("LMDB", "db/db/data.mdb"),
    Limit("*", ("died",), _DIES, signal=SIGSEGV),
    by_halves("LMDB", "db/db/data.mdb"),
)
