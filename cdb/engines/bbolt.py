"""bbolt: one B-tree file, mapped into memory; in Go."""

from cdb.engines.engine import Engine

ENGINE = Engine(
    "bbolt",
    "bbolt_kv",
    "bbolt",
    "Go 1.25 or later, OpenSSL and xxHash (Debian: golang-go, from backports where it is older,"
    " libssl-dev and libxxhash-dev, with g++ and python3-dev; Homebrew: go, openssl and xxhash)",
    language="Go",
)
