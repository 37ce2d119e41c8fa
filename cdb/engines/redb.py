"""redb: one B-tree file, read through a cache of its own; in Rust."""

from signal import SIGABRT

from cdb.contract.limits import Limit
from cdb.engines.engine import Engine
from cdb.engines.limits import unverified

ENGINE = Engine(
    "redb",
    "redb_kv",
    "redb",
    "cargo 1.91 or later, OpenSSL and xxHash (rustup; Debian: libssl-dev and libxxhash-dev, with"
    " g++ and python3-dev; Homebrew: rust, openssl and xxhash)",
    is_asked_for=True,
    language="Rust",
)
_DIES = "redb panics again while a panic at a damaged page is unwound, which ends the process"
LIMITS = (
    *unverified("redb", "db/db/data.redb"),
    Limit("*", ("died",), _DIES, "db/db/data.redb", signal=SIGABRT),
)
