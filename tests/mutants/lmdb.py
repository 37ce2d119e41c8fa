"""Faults in the coin set over LMDB, and in the checksums that the coin set adds for it."""

from tests.mutants.mutant import Mutant

_KV = ("lmdb_kv",)

BLIND: tuple[Mutant, ...] = ()

SEEN = (
    Mutant(
        "lmdb-commit-not-synced",
        "native/engines/lmdb.cpp",
        "open_file(wanted, is_synced_ ? 0 : MDB_NOMETASYNC);",
        "open_file(wanted, is_synced_ ? MDB_NOSYNC : MDB_NOMETASYNC);",
        6,
        "what was flushed survives power loss: LMDB's transactions are synced",
        _KV,
    ),
    Mutant(
        "lmdb-roots-before-pages",
        "native/engines/lmdb.cpp",
        "open_file(wanted, is_synced_ ? 0 : MDB_NOMETASYNC);",
        "open_file(wanted, is_synced_ ? 0 : MDB_NOSYNC);",
        6,
        "below POWER a power cut leaves whole blocks: LMDB's pages are durable before its roots",
        _KV,
    ),
    Mutant(
        "lmdb-opening-not-synced",
        "native/engines/lmdb.cpp",
        "make_durable();",
        "",
        6,
        "a database that was just made has its name after a power cut",
        _KV,
    ),
    Mutant(
        "lmdb-entries-between-others-lost",
        "native/engines/lmdb.cpp",
        "status = mdb_cursor_put(cursor_.get(), &key, &value, 0);",
        "status = MDB_SUCCESS;",
        6,
        "what is not behind all that is there is not appended, and is there all the same",
        _KV,
    ),
    Mutant(
        "lmdb-map-not-guarded",
        "native/engines/lmdb.cpp",
        "mapping_.emplace(map, map_bytes_, kDataFile, lost_pages_);",
        ";",
        11,
        "a file that was cut is an error, and no process dies of it",
        _KV,
    ),
    Mutant(
        "lmdb-second-writer-let-in",
        "native/engines/lmdb.cpp",
        "if (!writer_->try_lock(LOCK_EX))",
        "if (!writer_.has_value())",
        14,
        "one writer",
        _KV,
    ),
    Mutant(
        "lmdb-pages-of-readers-used-again",
        "native/lmdb/kept.h",
        "if (!readers_.try_lock(LOCK_EX)) return;",
        "readers_.try_lock(LOCK_EX);",
        14,
        "who has it open for reading sees the state of one moment, as long as it is open",
        _KV,
    ),
    Mutant(
        "lmdb-old-reader-not-told",
        "native/lmdb/kept.h",
        "if (now != since_ && now > transaction_id)",
        "if (now != since_ && now > transaction_id + 1000)",
        14,
        "a reader whose state a later writer does not keep gets an error",
        _KV,
    ),
    Mutant(
        "value-checksum-not-compared",
        "native/coin_set/ordered_kv.cpp",
        "if (std::memcmp(value.bytes + value.n, sum.data(), sum.size()) != 0) throw damage();",
        "if (sum.empty()) throw damage();",
        11,
        "a value that was changed is never served",
        _KV,
    ),
    Mutant(
        "damaged-entry-ends-the-blocks",
        "native/coin_set/ordered_kv.cpp",
        "if (i == first) throw;",
        "",
        11,
        "a damaged entry is not the end of the blocks",
        _KV,
    ),
)
