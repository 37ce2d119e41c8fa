"""Badger: sorted runs of many files, mapped into memory, which threads of its own merge; in Go."""

from cdb.engines.engine import Engine

ENGINE = Engine(
    "badger",
    "badger_kv",
    "Badger",
    "Go 1.25 or later and OpenSSL (Debian: golang-go, from backports where it is older, and"
    " libssl-dev, with g++ and python3-dev; Homebrew: go and openssl)",
    writes_maps=True,
    language="Go",
)
NOT_DURABLE = ("*/DISCARD",)
"""What its value logs could do without."""
