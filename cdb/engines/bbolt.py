"""bbolt: one B-tree file, mapped into memory; in Go."""

from cdb.contract.limits import Limit
from cdb.engines.engine import Engine
from cdb.engines.limits import unverified

ENGINE = Engine(
    "bbolt",
    "bbolt_kv",
    "bbolt",
    "Go 1.25 or later, OpenSSL and xxHash (Debian: golang-go, from backports where it is older,"
    " libssl-dev and libxxhash-dev, with g++ and python3-dev; Homebrew: go, openssl and xxhash)",
    is_asked_for=True,
    language="Go",
)
_DIES = "bbolt believes what a page says of itself"
LIMITS = (
    *unverified("bbolt", "db/db/bbolt.db"),
    Limit("*", ("died",), _DIES, "db/db/bbolt.db"),
)
