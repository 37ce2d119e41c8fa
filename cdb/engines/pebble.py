"""Pebble: sorted runs of many files, which threads of its own merge; in Go."""

from cdb.engines.engine import Engine

ENGINE = Engine(
    "pebble",
    "pebble_kv",
    "Pebble",
    "Go 1.25 or later and OpenSSL (Debian: golang-go, from backports where it is older, and"
    " libssl-dev, with g++ and python3-dev; Homebrew: go and openssl)",
    language="Go",
)
NOT_DURABLE = ("*/OPTIONS-*",)
"""What it was opened with, for people and tools."""
