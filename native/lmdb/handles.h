// LMDB's handles that free themselves, what is done with them, and its failures, which are thrown.
#pragma once

#include "cow_btree/failures.h"

#include <lmdb.h>

#include <memory>
#include <optional>
#include <string>

namespace cdb::btree {

constexpr const char *kDataFile = "data.mdb";
constexpr const char *kUnfinishedFile = "unfinished.mdb";
constexpr size_t kLeastFileBytes = 2u << 12;  // two pages that say where the roots are

using Txn = MDB_txn;
using Space = MDB_dbi;
using Value = MDB_val;
using To = MDB_cursor_op;
constexpr To kFirst = MDB_FIRST, kLast = MDB_LAST, kNext = MDB_NEXT, kPrevious = MDB_PREV,
             kAt = MDB_SET, kAtOrBehind = MDB_SET_RANGE;

inline Value value_of(const void *bytes, size_t n) { return {n, const_cast<void *>(bytes)}; }
inline const uint8_t *bytes_of(const Value &value) {
  return static_cast<const uint8_t *>(value.mv_data);
}
inline size_t size_of(const Value &value) { return value.mv_size; }

inline void check(int status) {
  switch (status) {
    case MDB_SUCCESS:
      return;
    case MDB_MAP_FULL:
      throw MapFull();
    case MDB_READERS_FULL:
      throw Failure(CDB_LIMIT, kDataFile, "too many look-ups are under way at once",
                    "ask again, or from fewer threads");
    case MDB_MAP_RESIZED:
      throw Failure(CDB_LOCKED, kDataFile, "a writer has made it larger meanwhile");
    default:
      break;
  }
  if (status < 0) throw Failure(CDB_CORRUPT, kDataFile, mdb_strerror(status));
  throw_system(status, kDataFile, mdb_strerror(status));
}

struct Closer {
  void operator()(MDB_env *env) const { mdb_env_close(env); }
  void operator()(MDB_txn *transaction) const { mdb_txn_abort(transaction); }
  void operator()(MDB_cursor *cursor) const { mdb_cursor_close(cursor); }
};
using Handle = std::unique_ptr<MDB_env, Closer>;
using Transaction = std::unique_ptr<MDB_txn, Closer>;  // what is not committed is aborted
using Cursor = std::unique_ptr<MDB_cursor, Closer>;

inline Transaction begin(const Handle &env, bool is_read_only) {
  MDB_txn *transaction = nullptr;
  check(mdb_txn_begin(env.get(), nullptr, is_read_only ? MDB_RDONLY : 0, &transaction));
  return Transaction(transaction);
}

// Any number of threads may read in one.
inline std::shared_ptr<MDB_txn> beside(const std::shared_ptr<MDB_txn> &transaction) {
  return transaction;
}

inline void commit(Transaction transaction) {
  int descriptor;
  check(mdb_env_get_fd(mdb_txn_env(transaction.get()), &descriptor));
  const int status = mdb_txn_commit(transaction.release());
  check(status == EIO ? reason_of_short_write(descriptor) : status);
}

inline Cursor open_cursor(MDB_txn *transaction, Space space) {
  MDB_cursor *cursor = nullptr;
  check(mdb_cursor_open(transaction, space, &cursor));
  return Cursor(cursor);
}

// Whether there is such an entry, at which the cursor is then.
inline bool reach(const Cursor &cursor, To to, Value *key, Value *value) {
  const int status = mdb_cursor_get(cursor.get(), key, value, to);
  if (status != MDB_NOTFOUND) check(status);
  return status == MDB_SUCCESS;
}

inline void put(const Cursor &cursor, Value key, Value value) {
  check(mdb_cursor_put(cursor.get(), &key, &value, 0));
}
// Behind all that is there; false where it would not be.
inline bool append(const Cursor &cursor, Value key, Value value) {
  const int status = mdb_cursor_put(cursor.get(), &key, &value, MDB_APPEND);
  if (status != MDB_KEYEXIST) check(status);
  return status == MDB_SUCCESS;
}
inline void erase(const Cursor &cursor) { check(mdb_cursor_del(cursor.get(), 0)); }

// None where there is none, and none is to be made.
inline std::optional<Space> open_space(MDB_txn *transaction, const char *name, bool make) {
  Space space;
  const int status = mdb_dbi_open(transaction, name, make ? MDB_CREATE : 0, &space);
  if (status == MDB_NOTFOUND) return std::nullopt;
  check(status);
  unsigned flags = 0;
  check(mdb_dbi_flags(transaction, space, &flags));
  if (flags != 0) throw Failure(CDB_CORRUPT, kDataFile, "it has flags that it never gets");
  return space;
}

inline uint64_t n_entries(MDB_txn *transaction, Space space) {
  MDB_stat stat;
  check(mdb_stat(transaction, space, &stat));
  return stat.ms_entries;
}

// The making of the database is the first transaction, and nothing that anybody has written.
inline uint64_t n_writes(MDB_txn *transaction) { return mdb_txn_id(transaction) - 1; }
inline void count_write(MDB_txn *) {}

inline std::string version() {
  int major, minor, patch;
  mdb_version(&major, &minor, &patch);
  return "LMDB " + std::to_string(major) + "." + std::to_string(minor) + "." +
         std::to_string(patch);
}

// LMDB would end the process.
[[noreturn]] inline void on_failed_assertion(MDB_env *, const char *what) {
  throw Failure(CDB_CORRUPT, kDataFile, std::string("a page of it makes no sense: ") + what);
}

inline Handle make_environment(size_t n_spaces) {
  MDB_env *env = nullptr;
  check(mdb_env_create(&env));
  Handle made(env);
  check(mdb_env_set_maxdbs(env, static_cast<MDB_dbi>(n_spaces)));
  check(mdb_env_set_assert(env, on_failed_assertion));
  return made;
}

// A file of its own at a path, with nothing in it.
inline Handle make_file(const std::string &path, size_t n_spaces) {
  Handle made = make_environment(n_spaces);
  check(mdb_env_open(made.get(), path.c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0644));
  return made;
}
inline void remove_beside(const std::string &) {}

}  // namespace cdb::btree
