"""What engines are known not to do. The trials try it all the same, and report it as known.

What is beneath a schema, by these names, is in the limits of its SchemaSpec.
"""

from collections.abc import Mapping
from signal import SIGABRT, SIGSEGV

from cdb.contract.durability import Durability
from cdb.contract.limits import WRONG, Limit

SERVED, OVERLOOKED, DIED = ("served",), ("overlooked",), ("died",)
PROCESS = Durability.PROCESS
WHOLE = "whole-of-step-*"

_SQLITE_ROWS = "SQLite has no checksums: only verify holds its rows against the blocks"
_SQLITE_NAMES = "SQLite has no checksums: a name that is not found seems to be nobody's"
_SQLITE_WAL = "SQLite takes damage in a -wal for its torn end: later commits are missing"
_OLDER_ROWS = "older rows, put back whole, are the database of then"
_OLDER_INDEX = "an older index covers less, and the rest comes from the rows or the log"
_OLDER_PROMISE = (
    "an older one promises less, and that still holds; for a closed coin_log the manifest catches"
    " it"
)
_ROCKSDB_GAP = "RocksDB takes a gap in what was appended last to its manifest for damage"
_ROCKSDB_TABLE = (
    "RocksDB 7.8 parses a table's properties before it holds them against their checksum, and as"
    " Debian builds it, with assertions, it ends the process"
)
_ROCKSDB_LOG = "RocksDB takes damage in its log for the log's torn end: later commits are missing"
_ROCKSDB_MANIFEST = (
    "RocksDB takes a manifest that is cut, or an older one, for the whole; NEWEST knows only what a"
    " close or a large commit has promised"
)
_OLDER_FILE = "an older file, put back whole, is the database of then, unless NEWEST promises more"
_LMDB_DIES = "LMDB believes what a page says of itself, and reads where that leads"
_PEBBLE_MANIFEST = (
    "Pebble takes damage in its manifest for the torn end, and a manifest that is cut, or an older"
    " one, for the whole; NEWEST knows only what a close or a large commit has promised"
)
_PEBBLE_LOG = "Pebble takes damage in its log for the log's torn end: later commits are missing"
_REDB_DIES = "redb panics again while a panic at a damaged page is unwound, which ends the process"
_BBOLT_DIES = "bbolt believes what a page says of itself, and goes round where that leads"
_BADGER_LOG = "Badger takes damage in its log for the log's torn end: later commits are missing"
_BADGER_TABLE = "Badger ends a scan, without an error, where a block does not match its checksum"
_BADGER_DIES = "Badger reads a damaged table in threads of its own, where what it meets is the end"
_BADGER_OPEN = (
    "Badger forgets files that it has opened where an opening fails for want of descriptors"
)
_BADGER_MANIFEST = "Badger takes damage in its manifest for the torn end"
_FJALL_JOURNAL = "fjall takes damage in its journal for the torn end: later commits are missing"
_LOG_END = (
    "at PROCESS nothing says how much of the log is durable: where a crash left it open, damage is"
    " taken for its torn end"
)
_LOG_FUZZ = "the same, and of several changes at once verify finds another"
_REPLACED = "a power cut may take all of a file that is replaced without a sync; it is refused"

_SQLITE = (
    Limit("*", SERVED, _SQLITE_ROWS, "db"),
    Limit("*", SERVED, _SQLITE_ROWS, "db/coins.sqlite"),
    Limit("*", WRONG, _SQLITE_WAL, "*-wal"),
)
_ROCKSDB = (
    Limit("power-unordered", ("fails",), _ROCKSDB_GAP, "*/MANIFEST-*", error="Corrupt*"),
    Limit("*", DIED, _ROCKSDB_TABLE, signal=SIGABRT),
)


def _unverified(library: str, path: str) -> tuple[Limit, ...]:
    """Of an engine that keeps all in one file, and verifies no page of it."""
    page = f"{library} verifies no page that it reads: damage hides keys, until verify asks for all"
    return Limit("*", SERVED, page, path), Limit("stale", WRONG, _OLDER_FILE, path, WHOLE)


def _by_halves(library: str, path: str) -> Limit:
    """Of an engine that refuses what a system call has done in part."""
    half = f"{library} makes no second call for the rest, but refuses: nothing flushed is lost"
    return Limit("*", ("noticed",), half, path)


KNOWN: Mapping[str, tuple[Limit, ...]] = {
    "SQLite": _SQLITE,
    "coin rows": (*_SQLITE, Limit("stale", WRONG, _OLDER_ROWS, "db/coins.sqlite", WHOLE)),
    "SQLite index": (Limit("*", SERVED, _SQLITE_NAMES, "db/index/lookup.sqlite"),),
    "derived index": (Limit("stale", OVERLOOKED, _OLDER_INDEX, "db/*/manifest", "whole*"),),
    "promise": (
        Limit("stale", OVERLOOKED, _OLDER_PROMISE, "db/acked"),
        Limit("stale", OVERLOOKED, _OLDER_PROMISE, "db/NEWEST"),
    ),
    "RocksDB": _ROCKSDB,
    "coin set in RocksDB": (
        Limit("*", WRONG, _ROCKSDB_LOG, "db/db/*.log"),
        Limit("*", WRONG, _ROCKSDB_MANIFEST, "db/db/MANIFEST-*"),
        *_ROCKSDB,
    ),
    "coin set in LMDB": (
        *_unverified("LMDB", "db/db/data.mdb"),
        Limit("*", DIED, _LMDB_DIES, signal=SIGSEGV),
        _by_halves("LMDB", "db/db/data.mdb"),
    ),
    "coin set in Pebble": (
        Limit("*", WRONG, _PEBBLE_LOG, "db/db/*.log"),
        Limit("*", WRONG, _PEBBLE_MANIFEST, "db/db/MANIFEST-*"),
    ),
    "coin set in bbolt": (
        *_unverified("bbolt", "db/db/bbolt.db"),
        Limit("*", DIED, _BBOLT_DIES, "db/db/bbolt.db"),
    ),
    "coin set in MDBX": (
        *_unverified("MDBX", "db/db/mdbx.dat"),
        _by_halves("MDBX", "db/db/mdbx.dat"),
    ),
    "coin set in SQLite": (
        *_unverified("SQLite", "db/db/data.sqlite"),
        Limit("*", WRONG, _SQLITE_WAL, "db/db/data.sqlite-wal"),
    ),
    "coin set in redb": (
        *_unverified("redb", "db/db/data.redb"),
        Limit("*", DIED, _REDB_DIES, "db/db/data.redb", signal=SIGABRT),
    ),
    "coin set in Badger": (
        Limit("*", WRONG, _BADGER_LOG, "db/db/*.mem"),
        Limit("*", WRONG, _BADGER_TABLE, "db/db/*.sst"),
        Limit("*", WRONG, _BADGER_MANIFEST, "db/db/MANIFEST"),
        Limit("*", DIED, _BADGER_DIES, "db/db/*", signal=SIGABRT),
        Limit("open-files", ("fails",), _BADGER_OPEN),
    ),
    "coin set in fjall": (Limit("*", WRONG, _FJALL_JOURNAL, "db/db/data/*.jnl"),),
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
