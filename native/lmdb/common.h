// LMDB's handles that free themselves, and its failures, which are thrown.
#pragma once

#include "common/failure.h"

#include <lmdb.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <memory>
#include <new>
#include <string>

namespace cdb::lmdb {

constexpr const char *kDataFile = "data.mdb";
constexpr size_t kFullDiskBytes = size_t{1} << 20;  // fewer free bytes than these are no room

// A transaction has no room left in the map.
struct MapFull {};

inline void check(int status) {
  switch (status) {
    case MDB_SUCCESS:
      return;
    case MDB_MAP_FULL:
      throw MapFull();
    case ENOMEM:
      throw std::bad_alloc();
    case MDB_READERS_FULL:
      throw Failure(CDB_LIMIT, kDataFile, "too many look-ups are under way at once",
                    "ask again, or from fewer threads");
    case MDB_MAP_RESIZED:
      throw Failure(CDB_LOCKED, kDataFile, "a writer has made it larger meanwhile");
    default:
      break;
  }
  if (status < 0) throw Failure(CDB_CORRUPT, kDataFile, mdb_strerror(status));
  const std::string why = mdb_strerror(status);
  if (status == ENOSPC || status == EDQUOT)
    throw Failure(CDB_NO_SPACE, kDataFile, "the disk is full (" + why + ")").because_of(status);
  throw Failure(CDB_IO, kDataFile, why).because_of(status);
}

struct Closer {
  void operator()(MDB_env *env) const { mdb_env_close(env); }
  void operator()(MDB_txn *transaction) const { mdb_txn_abort(transaction); }
  void operator()(MDB_cursor *cursor) const { mdb_cursor_close(cursor); }
};
using Environment = std::unique_ptr<MDB_env, Closer>;
using Transaction = std::unique_ptr<MDB_txn, Closer>;  // what is not committed is aborted
using Cursor = std::unique_ptr<MDB_cursor, Closer>;

inline Transaction begin(const Environment &env, unsigned flags) {
  MDB_txn *transaction = nullptr;
  check(mdb_txn_begin(env.get(), nullptr, flags, &transaction));
  return Transaction(transaction);
}

// A write that the disk took a part of is EIO to LMDB, whatever the reason.
inline bool is_full(MDB_env *env) {
  int descriptor;
  struct statvfs disk;
  return mdb_env_get_fd(env, &descriptor) == MDB_SUCCESS && ::fstatvfs(descriptor, &disk) == 0 &&
         disk.f_bavail * disk.f_frsize < kFullDiskBytes;
}

inline void commit(Transaction transaction) {
  MDB_env *const env = mdb_txn_env(transaction.get());
  const int status = mdb_txn_commit(transaction.release());
  check(status == EIO && is_full(env) ? ENOSPC : status);
}

inline Cursor open_cursor(MDB_txn *transaction, MDB_dbi space) {
  MDB_cursor *cursor = nullptr;
  check(mdb_cursor_open(transaction, space, &cursor));
  return Cursor(cursor);
}

// LMDB would end the process.
[[noreturn]] inline void on_failed_assertion(MDB_env *, const char *what) {
  throw Failure(CDB_CORRUPT, kDataFile, std::string("a page of it makes no sense: ") + what);
}

inline Environment make_environment(size_t n_spaces) {
  MDB_env *env = nullptr;
  check(mdb_env_create(&env));
  Environment made(env);
  check(mdb_env_set_maxdbs(env, static_cast<MDB_dbi>(n_spaces)));
  check(mdb_env_set_assert(env, on_failed_assertion));
  return made;
}

}  // namespace cdb::lmdb
