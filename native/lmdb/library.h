// LMDB, as engines/cow_btree.h wants it.
#pragma once

#include "cdb_ordered_kv.h"
#include "common/fault_points.h"
#include "cow_btree/lock_file.h"
#include "cow_btree/map.h"
#include "reader_pages.h"

#include <atomic>
#include <optional>
#include <string>

namespace cdb::btree {

constexpr const char *kLockFile = "lock.mdb";
constexpr off_t kLockFileBytes = 1 << 17;  // more than LMDB's header and all its readers take

// About so many, but no other map of this process has as many: by that it is found.
inline size_t own_map_bytes(size_t n_bytes) {
  constexpr size_t kPageBytes = 1u << 16;
  static std::atomic<size_t> n_maps{0};
  return n_bytes + ++n_maps * kPageBytes;
}

// LMDB's own lock file is for the threads of the one process that writes. Other openings are read
// only, and reader_pages.h sees to it that they can.
class Environment {
 public:
  Environment(const std::string &directory, const okv_options &wanted, unsigned n_readers)
      : directory_(directory),
        is_read_only_(wanted.read_only != 0),
        is_synced_(wanted.mostly == OKV_POWER) {
    if (is_read_only_)
      seen_.emplace(directory);
    else
      reserve_lock_file(directory, kLockFile, kLockFileBytes);
    env_ = make_environment(wanted.n_spaces);
    check(mdb_env_set_maxreaders(env_.get(), n_readers));
  }
  // map_bytes: at most.
  void open(size_t map_bytes) {
    check(mdb_env_set_mapsize(env_.get(), own_map_bytes(map_bytes)));
    const unsigned not_synced = CDB_FAULT("lmdb-not-synced") ? MDB_NOSYNC : 0;
    const unsigned flags =
        is_read_only_ ? MDB_RDONLY | MDB_NOLOCK : not_synced | (is_synced_ ? 0 : MDB_NOMETASYNC);
    const int status =
        mdb_env_open(env_.get(), directory_.c_str(), flags | MDB_NOTLS | MDB_NORDAHEAD, 0644);
    // LMDB maps more than it was told to, if the file says that it has more pages.
    if (status == ENOMEM && has_addresses(map_bytes))
      throw Failure(CDB_CORRUPT, kDataFile, "its meta page counts more pages than memory can have");
    check(status);
    int n_stale;
    if (!is_read_only_) check(mdb_reader_check(env_.get(), &n_stale));
  }
  // After it is guarded.
  void begin() {
    if (!is_read_only_) reader_pages_.emplace(env_, directory_);
  }

  Transaction read() const { return btree::begin(env_, true); }
  Transaction write() const { return btree::begin(env_, false); }
  // Without LMDB's lock: a writer that makes two commits meanwhile writes where this one is read.
  Transaction newest() const {
    for (;;) {
      Transaction transaction = read();
      if (info().me_last_txnid <= mdb_txn_id(transaction.get()) + 1) return transaction;
    }
  }
  void check_kept(MDB_txn *shown) const { seen_->check_kept(mdb_txn_id(shown)); }
  void after_commit() { reader_pages_->renew_if_nobody_reads(); }
  void sync() { check(mdb_env_sync(env_.get(), 1)); }

  // More than was asked for, where the file has more pages.
  size_t map_bytes() const { return info().me_mapsize; }
  void *map() const {
    return find_map([n = map_bytes()](uintptr_t, size_t bytes) { return bytes == n; });
  }
  // Nobody reads meanwhile.
  void grow(size_t n_bytes) {
    reader_pages_->stop();
    check(mdb_env_set_mapsize(env_.get(), own_map_bytes(n_bytes)));
    if (!CDB_FAULT("lmdb-keeps-nothing-once-grown")) reader_pages_->begin_again();
  }

 private:
  MDB_envinfo info() const {
    MDB_envinfo info;
    check(mdb_env_info(env_.get(), &info));
    return info;
  }

  const std::string directory_;
  const bool is_read_only_;
  const bool is_synced_;  // by each commit
  std::optional<Seen> seen_;
  Handle env_;
  std::optional<ReaderPages> reader_pages_;
};

}  // namespace cdb::btree
