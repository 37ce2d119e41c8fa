"""Pebble: sorted runs of many files, which threads of its own merge; in Go."""

from cdb.contract.limits import WRONG, Limit
from cdb.engines.engine import Engine

ENGINE = Engine(
    "pebble",
    "pebble_kv",
    "Pebble",
    "Go 1.25 or later and OpenSSL (Debian: golang-go, from backports where it is older, and"
    " libssl-dev, with g++ and python3-dev; Homebrew: go and openssl)",
    is_asked_for=True,
    language="Go",
)
NOT_DURABLE = ("*/OPTIONS-*",)
"""What it was opened with, for people and tools."""
_MANIFEST = (
    "Pebble takes damage in its manifest for the torn end, and a manifest that is cut, or an older"
    " one, for the whole; NEWEST knows only what a close or a large commit has promised"
)
_LOG = "Pebble takes damage in its log for the log's torn end: later commits are missing"
LIMITS = (
    Limit("*", WRONG, _LOG, "db/db/*.log"),
    Limit("*", WRONG, _MANIFEST, "db/db/MANIFEST-*"),
)
