// MDBX, as engines/cow_btree.h wants it.
//
// Its lock file is for all who have the database open, in any process: each reader stands in its
// table, and no page that one can find is used again.
#pragma once

#include "cdb_ordered_kv.h"
#include "common/fault_points.h"
#include "cow_btree/failures.h"
#include "cow_btree/lock_file.h"
#include "cow_btree/map.h"

#include <mdbx.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cdb::btree {

constexpr const char *kDataFile = "mdbx.dat";
constexpr const char *kUnfinishedFile = "unfinished.dat";
constexpr const char *kLockFile = "mdbx.lck";
constexpr off_t kLockFileBytes = 1 << 17;     // more than MDBX's header and all its readers take
constexpr size_t kLeastFileBytes = 3u << 12;  // three pages that say where the roots are
constexpr intptr_t kLeastBytes = 1 << 20, kGrowthBytes = 4 << 20;
constexpr unsigned kMostChangedPages = 1 << 17;  // in memory; a commit writes the others early

using Txn = MDBX_txn;
using Space = MDBX_dbi;
using Value = MDBX_val;
using To = MDBX_cursor_op;
constexpr To kFirst = MDBX_FIRST, kLast = MDBX_LAST, kNext = MDBX_NEXT, kPrevious = MDBX_PREV,
             kAt = MDBX_SET, kAtOrBehind = MDBX_SET_RANGE;

inline Value value_of(const void *bytes, size_t n) { return {const_cast<void *>(bytes), n}; }
inline const uint8_t *bytes_of(const Value &value) {
  return static_cast<const uint8_t *>(value.iov_base);
}
inline size_t size_of(const Value &value) { return value.iov_len; }

inline void check(int status) {
  switch (status) {
    case MDBX_SUCCESS:
      return;
    case MDBX_MAP_FULL:
      throw MapFull();
    case MDBX_READERS_FULL:
      throw Failure(CDB_LIMIT, kDataFile, "too many look-ups are under way at once",
                    "ask again, or from fewer threads");
    case MDBX_UNABLE_EXTEND_MAPSIZE:
      throw Failure(CDB_LIMIT, kDataFile, "it can't be mapped",
                    "allow the process more addresses (ulimit -v), and open it again");
    case MDBX_BUSY:
    case EAGAIN:
      throw Failure(CDB_LOCKED, kDataFile, "somebody has it open for himself alone");
    case MDBX_WANNA_RECOVERY:
      throw Failure(CDB_CORRUPT, kDataFile, "its newest root, or its end, is torn or damaged",
                    "open it for writing: MDBX goes back to the root before");
    case MDBX_PANIC:
    case MDBX_RESULT_TRUE:  // of a commit: given up
      throw Failure(CDB_IO, kDataFile, "a write of it has failed");
    case MDBX_ENODATA:
      throw Failure(CDB_CORRUPT, kDataFile, "it is cut");
    default:
      break;
  }
  if (status < 0) throw Failure(CDB_CORRUPT, kDataFile, mdbx_strerror(status));
  throw_system(status, kDataFile, mdbx_strerror(status));
}

struct Closer {
  void operator()(MDBX_env *env) const {
    void *const checked_pages = mdbx_env_get_userctx(env);
    mdbx_env_close_ex(env, true);
    std::free(checked_pages);
  }
  void operator()(MDBX_txn *transaction) const { mdbx_txn_abort(transaction); }
  void operator()(MDBX_cursor *cursor) const { mdbx_cursor_close(cursor); }
};
using Handle = std::unique_ptr<MDBX_env, Closer>;
using Transaction = std::unique_ptr<MDBX_txn, Closer>;  // what is not committed is aborted
using Cursor = std::unique_ptr<MDBX_cursor, Closer>;

inline Transaction begin(const Handle &env, bool is_read_only) {
  MDBX_txn *transaction = nullptr;
  check(mdbx_txn_begin(env.get(), nullptr, is_read_only ? MDBX_TXN_RDONLY : MDBX_TXN_READWRITE,
                       &transaction));
  return Transaction(transaction);
}

// One of the same moment: a transaction's cursors are in a list, which each read looks through and
// nothing locks, so no two threads may read in one.
inline std::shared_ptr<MDBX_txn> beside(const std::shared_ptr<MDBX_txn> &transaction) {
  MDBX_txn *made = nullptr;
  check(mdbx_txn_clone(transaction.get(), &made, nullptr));
  return {made, Closer()};
}

inline void commit(Transaction transaction) {
  int descriptor;
  check(mdbx_env_get_fd(mdbx_txn_env(transaction.get()), &descriptor));
  const int status = mdbx_txn_commit(transaction.release());
  check(status == MDBX_EIO ? reason_of_short_write(descriptor) : status);
}

inline Cursor open_cursor(MDBX_txn *transaction, Space space) {
  MDBX_cursor *cursor = nullptr;
  check(mdbx_cursor_open(transaction, space, &cursor));
  return Cursor(cursor);
}

// Whether there is such an entry, at which the cursor is then.
inline bool reach(const Cursor &cursor, To to, Value *key, Value *value) {
  const int status = mdbx_cursor_get(cursor.get(), key, value, to);
  if (status != MDBX_NOTFOUND) check(status);
  return status == MDBX_SUCCESS;
}

inline void put(const Cursor &cursor, Value key, Value value) {
  check(mdbx_cursor_put(cursor.get(), &key, &value, MDBX_UPSERT));
}
// Behind all that is there; false where it would not be.
inline bool append(const Cursor &cursor, Value key, Value value) {
  const int status = mdbx_cursor_put(cursor.get(), &key, &value, MDBX_APPEND);
  if (status != MDBX_EKEYMISMATCH) check(status);
  return status == MDBX_SUCCESS;
}
inline void erase(const Cursor &cursor) { check(mdbx_cursor_del(cursor.get(), MDBX_UPSERT)); }

// None where there is none, and none is to be made.
inline std::optional<Space> open_space(MDBX_txn *transaction, const char *name, bool make) {
  Space space;
  const int status =
      mdbx_dbi_open(transaction, name, make ? MDBX_CREATE : MDBX_DB_DEFAULTS, &space);
  if (status == MDBX_NOTFOUND) return std::nullopt;
  check(status);
  return space;
}

inline uint64_t n_entries(MDBX_txn *transaction, Space space) {
  MDBX_stat stat;
  check(mdbx_dbi_stat(transaction, space, &stat, sizeof stat));
  return stat.ms_entries;
}

// MDBX has transactions of its own, which nobody has written: ours are counted in its canary.
inline uint64_t n_writes(MDBX_txn *transaction) {
  MDBX_canary canary;
  check(mdbx_canary_get(transaction, &canary));
  return canary.x;
}
inline void count_write(MDBX_txn *transaction) {
  const MDBX_canary canary = {n_writes(transaction) + 1, 0, 0, 0};
  check(mdbx_canary_put(transaction, &canary));
}

inline std::string version() {
  return "MDBX " + std::to_string(mdbx_version.major) + "." + std::to_string(mdbx_version.minor) +
         "." + std::to_string(mdbx_version.patch);
}

// MDBX would end the process.
[[noreturn]] inline void on_panic(const char *what, const char *, unsigned, const void *,
                                  const char *) {
  throw Failure(CDB_CORRUPT, kDataFile, std::string("a page of it makes no sense: ") + what);
}

inline Handle make_environment(size_t n_spaces, intptr_t map_bytes) {
  static std::once_flag once;
  std::call_once(once, [] {
    mdbx_set_panic(reinterpret_cast<MDBX_panic_func>(on_panic));
    // A process may read what it writes by an opening of its own.
    mdbx_setup_debug(MDBX_LOG_DONTCHANGE, MDBX_DBG_LEGACY_MULTIOPEN, MDBX_LOGGER_DONTCHANGE);
  });
  MDBX_env *env = nullptr;
  check(mdbx_env_create(&env));
  Handle made(env);
  // See bundled/mdbx_checked_once.c. What nothing has marked takes no memory.
  check(mdbx_env_set_userctx(env, std::calloc(CDB_MDBX_CHECKED_PAGES, sizeof(uint64_t))));
  check(mdbx_env_set_maxdbs(env, static_cast<MDBX_dbi>(n_spaces)));
  check(mdbx_env_set_geometry(env, kLeastBytes, -1, map_bytes, kGrowthBytes, 0, 1 << 12));
  return made;
}

constexpr auto kAlways =
    static_cast<MDBX_env_flags_t>(MDBX_NOSTICKYTHREADS | MDBX_NORDAHEAD | MDBX_VALIDATION);

// A file of its own at a path, with nothing in it; and what is beside that.
inline Handle make_file(const std::string &path, size_t n_spaces) {
  Handle made = make_environment(n_spaces, static_cast<intptr_t>(first_map_bytes(0)));
  check(mdbx_env_open(made.get(), path.c_str(), kAlways | MDBX_NOSUBDIR | MDBX_EXCLUSIVE, 0644));
  return made;
}
inline void remove_beside(const std::string &path) { std::remove((path + "-lck").c_str()); }

class Environment {
 public:
  Environment(const std::string &directory, const okv_options &wanted, unsigned n_readers)
      : directory_(directory),
        is_read_only_(wanted.read_only != 0),
        is_synced_(wanted.mostly == OKV_POWER),
        n_readers_(n_readers) {
    for (size_t i = 0; i < wanted.n_spaces; ++i) names_.emplace_back(wanted.spaces[i].name);
    // Where somebody has the database open, it has all of its pages.
    if (file_bytes(directory + "/" + kLockFile) == 0)
      reserve_lock_file(directory, kLockFile, kLockFileBytes);
  }
  // map_bytes: at most. A reader has to map as many as the last writer.
  void open(size_t map_bytes) {
    env_ = make_environment(names_.size(), static_cast<intptr_t>(map_bytes));
    check(mdbx_env_set_maxreaders(env_.get(), n_readers_));
    check(mdbx_env_set_option(env_.get(), MDBX_opt_txn_dp_limit, kMostChangedPages));
    const auto durability = CDB_FAULT("mdbx-not-synced") ? MDBX_UTTERLY_NOSYNC
                            : is_synced_                 ? MDBX_SYNC_DURABLE
                                                         : MDBX_NOMETASYNC;
    const auto flags = is_read_only_ ? MDBX_RDONLY : durability;
    const int status = mdbx_env_open(env_.get(), directory_.c_str(), kAlways | flags, 0644);
    check(status == ENOMEM ? MDBX_UNABLE_EXTEND_MAPSIZE : status);
  }
  void begin() {}

  Transaction read() const { return btree::begin(env_, true); }
  Transaction write() const { return btree::begin(env_, false); }
  Transaction newest() const { return read(); }
  void check_kept(MDBX_txn *) const {}
  void after_commit() {}
  // All but the newest root is synced by commits.
  void sync() {
    int descriptor;
    check(mdbx_env_get_fd(env_.get(), &descriptor));
    if (::fdatasync(descriptor) != 0) throw_system(errno, kDataFile, "it can't be synced");
  }

  size_t map_bytes() const {
    MDBX_envinfo info;
    check(mdbx_env_info_ex(env_.get(), nullptr, &info, sizeof info));
    return info.mi_mapsize;
  }
  // Where the root of a space is, it is.
  void *map() const {
    const Transaction state = read();
    Space spaces;
    check(mdbx_dbi_open(state.get(), nullptr, MDBX_DB_DEFAULTS, &spaces));
    Value name, root;
    if (!reach(open_cursor(state.get(), spaces), kFirst, &name, &root))
      throw Failure(CDB_CORRUPT, kDataFile, "it has no spaces");
    const auto there = reinterpret_cast<uintptr_t>(root.iov_base);
    return find_map([there](uintptr_t begin, size_t bytes) { return there - begin < bytes; });
  }
  // Nobody reads meanwhile. It is opened again, as MDBX moves no map that any thread may read in;
  // the spaces get the same numbers in the same order.
  void grow(size_t n_bytes) {
    env_.reset();
    open(n_bytes);
    if (map_bytes() < n_bytes)
      throw Failure(CDB_LIMIT, kDataFile, "its map can't grow while others have it open",
                    "end them, and open it again");
    Transaction opening = read();
    for (const std::string &name : names_) open_space(opening.get(), name.c_str(), false);
    commit(std::move(opening));
  }

 private:
  const std::string directory_;
  const bool is_read_only_;
  const bool is_synced_;  // by each commit
  const unsigned n_readers_;
  std::vector<std::string> names_;
  Handle env_;
};

}  // namespace cdb::btree
