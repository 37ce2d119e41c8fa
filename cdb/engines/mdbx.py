"""MDBX: one B-tree file, mapped into memory; of LMDB's family."""

from cdb.engines.engine import Engine

ENGINE = Engine(
    "mdbx",
    "mdbx_kv",
    "MDBX",
    "cargo, which fetches its source, OpenSSL and xxHash (Debian, Ubuntu: cargo, libssl-dev and"
    " libxxhash-dev, with g++ and python3-dev), by `make engine-mdbx` in a checkout",
    good_for="what lmdb_kv is for, with readers that stay, and checks of each page's shape",
    writes_maps=True,
)
NOT_DURABLE = ("*/mdbx.lck",)
"""Its table of readers."""
