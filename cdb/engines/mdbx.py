"""MDBX: one B-tree file, mapped into memory, with a table of all its readers."""

from cdb.engines.engine import Engine
from cdb.engines.limits import by_halves, unverified

ENGINE = Engine(
    "mdbx",
    "mdbx_kv",
    "MDBX",
    "cargo, which fetches its source, OpenSSL and xxHash (Debian, Ubuntu: cargo, libssl-dev and"
    " libxxhash-dev, with g++ and python3-dev)",
    writes_maps=True,
    is_asked_for=True,
)
NOT_DURABLE = ("*/mdbx.lck",)
"""Its table of readers."""
LIMITS = (
    *unverified("MDBX", "db/db/mdbx.dat"),
    by_halves("MDBX", "db/db/mdbx.dat"),
)
