"""redb: one B-tree file, read through a cache of its own; in Rust."""

from cdb.engines.engine import Engine

ENGINE = Engine(
    "redb",
    "redb_kv",
    "redb",
    "cargo 1.91 or later, OpenSSL and xxHash (rustup; Debian: libssl-dev and libxxhash-dev, with"
    " g++ and python3-dev; Homebrew: rust, openssl and xxhash)",
    language="Rust",
)
