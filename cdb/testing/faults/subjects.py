"""cdb's own schemas as trials take them: with small memtables, and with their known limits."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from functools import cache

from cdb.durability import Durability
from cdb.rows.indexed import index_factory_of
from cdb.schemas.registry import OWN_SCHEMAS, SchemaInfo, find_schema
from cdb.testing.faults.damage import WAYS


@dataclass(frozen=True)
class Limit:
    """What the engine beneath a schema can't do.

    trials: the kinds of trials that show it, as a pattern of names. problem: what they say then, as
    a regular expression.
    """

    trials: str
    problem: str
    reason: str


@dataclass(frozen=True)
class Subject:
    """A schema under trial. spec: as a process can find it. seed: one whose script merges runs.

    checksummed: its files in which verify finds any change, as a regular expression.
    """

    spec: str
    seed: int = 1
    limits: tuple[Limit, ...] = field(default=())
    checksummed: str = ""

    def limit(self, trial: str, problem: str) -> Limit | None:
        """The known limit that a failed trial shows, if it is one."""
        for limit in self.limits:
            if fnmatch(trial, limit.trials) and re.search(limit.problem, problem):
                return limit
        return None


_PROCESS_LEVEL = "cdb.testing.faults.process_level"

_ROWS = Limit(
    "*",
    r"damage is served: db(/coins\.sqlite)?, .*verify finds it",
    "SQLite has no checksums: where a coin was confirmed and spent, and which there are, verify"
    " alone holds against the blocks",
)
_WAL = Limit(
    "*",
    r"damage is served: \S+-wal, ",
    "SQLite takes damage in a -wal for its torn end, and leaves out the commits behind it",
)
_LOOKUP = Limit(
    "*",
    r"damage is served: db/index/lookup\.sqlite, .*verify finds it",
    "SQLite has no checksums: a name that is not found seems to be nobody's",
)
_OLDER_ROWS = Limit(
    "stale",
    r"damage is served: db/coins\.sqlite, whole-of-step-",
    "the rows are all that counts: put back as they once were, they are the database of then, where"
    " the index covers no more than they have",
)
_ROCKSDB_LOG = Limit(
    "*",
    r"damage is served: db/db/\d+\.log, ",
    "RocksDB takes damage in its log for the log's torn end, and leaves out the commits behind it",
)
_ROCKSDB_MANIFEST = Limit(
    "*",
    r"damage is served: db/db/MANIFEST-\d+, ",
    "RocksDB takes a manifest that is cut, or an older one, for the whole; NEWEST knows only what a"
    " close or a large commit has promised",
)
_ROCKSDB_GAP = Limit(
    "power-unordered",
    "it fails: .* in file .*/MANIFEST-",
    "RocksDB takes a gap in what was appended last to its manifest for damage",
)
_ROCKSDB_ASSERTIONS = tuple(
    Limit(
        way,
        "^its process ends with -6: ",
        "RocksDB 7.8 parses a table's properties before it holds them against their checksum, and"
        " as Debian builds it, with assertions, it ends the process",
    )
    for way in (*WAYS, "fuzz")
)
_LMDB_PAGE = Limit(
    "*",
    r"damage is served: db/db/data\.mdb, .*verify finds it",
    "LMDB has no checksums: a page of its B-trees that leads elsewhere hides keys, until verify"
    " asks for all that the blocks hold",
)
_LMDB_WILD_PAGE = Limit(
    "*",
    "^its process ends with -11: ",
    "LMDB believes what a page says of itself, and reads where that leads",
)
_LMDB_OLDER = Limit(
    "stale",
    r"damage is served: db/db/data\.mdb, whole-of-step-",
    "one file is all that there is: put back as it once was, it is the database of then, unless"
    " NEWEST has promised more",
)
_LMDB_HALF_CALLS = tuple(
    Limit(
        trial,
        r"it is noticed: .*data\.mdb: (MDB_INVALID|Input/output error|Interrupted system call)",
        "LMDB makes no second call for the rest, but refuses: its error costs nothing that was"
        " flushed",
    )
    for trial in ("short*", "eintr")
)
_OLDER_INDEX = Limit(
    "stale",
    "damage is overlooked: db/(index|derived)/manifest, whole",
    "an older index covers less, and the rest comes from the rows or the log",
)
_OLDER_PROMISE = Limit(
    "stale",
    "damage is overlooked: db/(acked|NEWEST), ",
    "it promised less then, and that is kept, too; of coin_log what was closed is in the manifest",
)

_UNPROMISED = Limit(
    "*",
    "damage is served: db/log, .*verify is silent",
    "at PROCESS nothing says how much of the log is durable: where a crash left it open, damage is"
    " taken for its torn end",
)
_UNPROMISED_OF_SEVERAL = Limit(
    "fuzz",
    "damage is served: db/log, ",
    "the same, and of several changes at once verify finds another",
)

_KNOWN: Mapping[str, Subject] = {
    "memory": Subject("memory", checksummed="db"),
    "blockchain_v2": Subject("blockchain_v2", limits=(_ROWS, _WAL)),
    "sqlite_v3": Subject(
        "sqlite_v3:SMALL",
        checksummed="db/FORMAT",
        limits=(_ROWS, _WAL, _LOOKUP, _OLDER_ROWS),
    ),
    "sqlite_row": Subject(
        "cdb.testing.faults.merging:SQLITE_ROW",
        seed=12,
        checksummed="db/(FORMAT|index/manifest)",
        limits=(_ROWS, _WAL, _OLDER_ROWS, _OLDER_INDEX),
    ),
    "flat_file": Subject(
        "cdb.testing.faults.merging:FLAT_FILE",
        seed=12,
        checksummed="db/(FORMAT|index/.*)",
        limits=(_ROWS, _WAL, _OLDER_ROWS, _OLDER_INDEX),
    ),
    "rocks": Subject(
        "rocks:SMALL",
        checksummed="db/FORMAT",
        limits=(_ROWS, _WAL, _OLDER_ROWS, _ROCKSDB_GAP, *_ROCKSDB_ASSERTIONS),
    ),
    "rocks_kv": Subject(
        "rocks_kv:SMALL",
        checksummed="db/(FORMAT|NEWEST)",
        limits=(
            _ROCKSDB_LOG,
            _ROCKSDB_MANIFEST,
            _ROCKSDB_GAP,
            _OLDER_PROMISE,
            *_ROCKSDB_ASSERTIONS,
        ),
    ),
    "lmdb_kv": Subject(
        "lmdb_kv:SMALL",
        checksummed="db/(FORMAT|NEWEST)",
        limits=(_LMDB_PAGE, _LMDB_WILD_PAGE, _LMDB_OLDER, *_LMDB_HALF_CALLS, _OLDER_PROMISE),
    ),
    "coin_log": Subject(
        "coin_log:SMALL",
        checksummed="db/(FORMAT|acked|log|derived/.*)",
        limits=(_OLDER_INDEX, _OLDER_PROMISE),
    ),
}
"""What is known of a schema's engine. For any other one see _new()."""

_VARIANTS = {
    "coin_log-keys": replace(_KNOWN["coin_log"], spec="cdb.testing.faults.keyed:COIN_LOG"),
    "coin_log-large": replace(_KNOWN["coin_log"], spec="coin_log"),
}
"""Large: with small runs a checkpoint follows on each pack, and syncs it; there a flush or a close
does."""

_AT_PROCESS = {"coin_log": (_UNPROMISED, _UNPROMISED_OF_SEVERAL)}
"""The limits that a schema has only there."""
_NOT_AT_PROCESS = ("memory",)
"""Of a file that is replaced without a sync a power cut may take all, and then it is refused."""


def _new(schema: SchemaInfo) -> Subject:
    """A schema that is not known: small, if it can be, and with the limits of rows, if it has some.

    None of its files is said to be checksummed.
    """
    has_rows = index_factory_of(schema.factory) is not None
    limits = (_ROWS, _WAL, _OLDER_ROWS, _OLDER_INDEX) if has_rows else ()
    return Subject(schema.small or schema.name, limits=limits)


def _subjects() -> Iterator[tuple[str, Subject]]:
    """Each of cdb's schemas, and at PROCESS, too, where it offers that."""
    for name in OWN_SCHEMAS:
        found = find_schema(name)
        if not found.keeps_contract:
            continue
        subject = _KNOWN[name] if name in _KNOWN else _new(found)
        yield name, subject
        if Durability.PROCESS in found.durabilities and name not in _NOT_AT_PROCESS:
            limits = (*subject.limits, *_AT_PROCESS.get(name, ()))
            at_process = replace(subject, spec=f"{_PROCESS_LEVEL}:{name}", limits=limits)
            yield f"{name}-process", at_process


@cache
def all_subjects() -> Mapping[str, Subject]:
    """What is tried, by its name."""
    return {**dict(_subjects()), **_VARIANTS}


def subject_of(spec: str) -> Subject:
    """The subject of a spec; without limits where it is none of cdb's own."""
    return next((each for each in all_subjects().values() if each.spec == spec), Subject(spec))
