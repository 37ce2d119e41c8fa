"""What is known not to be done beneath a schema. The trials try it all the same, and report it as
known.

By these names it is in the limits of a SchemaSpec; those of a coin set in an engine are in
cdb/engines/.
"""

from collections.abc import Mapping

from cdb.contract.durability import Durability
from cdb.contract.limits import WRONG, Limit
from cdb.engines import rocksdb, sqlite

SERVED, OVERLOOKED = ("served",), ("overlooked",)
PROCESS = Durability.PROCESS
WHOLE = "whole-of-step-*"

_SQLITE_ROWS = "SQLite has no checksums: only verify holds its rows against the blocks"
_SQLITE_NAMES = "SQLite has no checksums: a name that is not found seems to be nobody's"
_OLDER_ROWS = "older rows, put back whole, are the database of then"
_OLDER_INDEX = "an older index covers less, and the rest comes from the rows or the log"
_OLDER_PROMISE = (
    "an older one promises less, and that still holds; for a closed coin_log the manifest catches"
    " it"
)
_LOG_END = (
    "at PROCESS nothing says how much of the log is durable: where a crash left it open, damage is"
    " taken for its torn end"
)
_LOG_FUZZ = "the same, and of several changes at once verify finds another"
_REPLACED = "a power cut may take all of a file that is replaced without a sync; it is refused"

_SQLITE = (
    Limit("*", SERVED, _SQLITE_ROWS, "db"),
    Limit("*", SERVED, _SQLITE_ROWS, "db/coins.sqlite"),
    *sqlite.LIBRARY_LIMITS,
)

KNOWN: Mapping[str, tuple[Limit, ...]] = {
    "SQLite": _SQLITE,
    "coin rows": (*_SQLITE, Limit("stale", WRONG, _OLDER_ROWS, "db/coins.sqlite", WHOLE)),
    "SQLite index": (Limit("*", SERVED, _SQLITE_NAMES, "db/index/lookup.sqlite"),),
    "derived index": (Limit("stale", OVERLOOKED, _OLDER_INDEX, "db/*/manifest", "whole*"),),
    "promise": (
        Limit("stale", OVERLOOKED, _OLDER_PROMISE, "db/acked"),
        Limit("stale", OVERLOOKED, _OLDER_PROMISE, "db/NEWEST"),
    ),
    "RocksDB": rocksdb.LIBRARY_LIMITS,
    "coin_log": (
        Limit("*", ("unseen",), _LOG_END, "db/log", durability=PROCESS),
        Limit("fuzz", WRONG, _LOG_FUZZ, "db/log", durability=PROCESS),
    ),
    "replaced file": tuple(
        Limit(cut, ("fails",), _REPLACED, "db", error="[CW]*DatabaseError", durability=PROCESS)
        for cut in ("power-*", "cut-*", "e*", "kill-reopen")
    ),
}
"""By what is beneath a schema."""
