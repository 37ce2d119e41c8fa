"""Badger: sorted runs of many files, mapped into memory, which threads of its own merge; in Go."""

from signal import SIGABRT

from cdb.contract.limits import WRONG, Limit
from cdb.engines.engine import Engine

ENGINE = Engine(
    "badger",
    "badger_kv",
    "Badger",
    "Go 1.25 or later and OpenSSL (Debian: golang-go, from backports where it is older, and"
    " libssl-dev, with g++ and python3-dev; Homebrew: go and openssl)",
    writes_maps=True,
    is_asked_for=True,
    language="Go",
)
NOT_DURABLE = ("*/DISCARD",)
"""What its value logs could do without."""
_LOG = "Badger takes damage in its log for the log's torn end: later commits are missing"
_DIES = "Badger reads a damaged table in threads of its own, where what it meets is the end"
_OPEN = "Badger forgets files that it has opened where an opening fails for want of descriptors"
_MANIFEST = "Badger takes damage in its manifest for the torn end"
LIMITS = (
    Limit("*", WRONG, _LOG, "db/db/*.mem"),
    Limit("*", WRONG, _MANIFEST, "db/db/MANIFEST"),
    Limit("*", ("died",), _DIES, "db/db/*", signal=SIGABRT),
    Limit("open-files", ("fails",), _OPEN),
)
