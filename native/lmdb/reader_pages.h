// Pages that a writer keeps for those who have opened the database only to read it.
//
// LMDB knows readers by its lock file, which they would have to write to. Ours hold a flock of the
// file "readers" instead, and the writer a read transaction: it is renewed after a commit only
// while nobody holds the flock. So no page is used again that a reader could have found when it
// came. Since which transaction the living writer keeps them, "readers" says: a reader that came in
// the time of another writer, and sees an older one, must not go on.
#pragma once

#include "handles.h"
#include "common/bytes.h"
#include "common/fault_points.h"
#include "common/file_lock.h"

#include <sys/stat.h>

#include <optional>
#include <string>

namespace cdb::btree {

constexpr const char *kReadersFile = "readers";

// Of a writer.
class ReaderPages {
 public:
  ReaderPages(const Handle &env, const std::string &directory)
      : readers_(directory + "/" + kReadersFile, O_RDWR | O_CREAT, kReadersFile),
        oldest_(begin(env, true)) {
    tell();
  }
  void renew_if_nobody_reads() {
    if (!readers_.try_lock(LOCK_EX) && !CDB_FAULT("lmdb-pages-of-readers-used-again")) return;
    mdb_txn_reset(oldest_.get());
    const int status = mdb_txn_renew(oldest_.get());
    readers_.unlock();
    check(status);
  }
  // Keeps nothing between the two, and only what is new from then on.
  void stop() { mdb_txn_reset(oldest_.get()); }
  void begin_again() {
    check(mdb_txn_renew(oldest_.get()));
    tell();
  }

 private:
  // Not synced: it is for those who live.
  void tell() {
    const uint64_t since = mdb_txn_id(oldest_.get());
    if (::pwrite(readers_.descriptor(), &since, sizeof since, 0) != sizeof since)
      throw Failure(CDB_IO, kReadersFile, "it can't be written").because_of(errno);
  }

  FileLock readers_;
  const Transaction oldest_;
};

// Of a reader, which has to come before its transaction. Without the file, as in a copy that lacks
// it, nobody keeps anything, and the first writer ends it.
class Seen {
 public:
  explicit Seen(const std::string &directory) : directory_(directory, O_RDONLY | O_DIRECTORY, "") {
    const std::string path = directory + "/" + kReadersFile;
    if (find().has_value()) readers_.emplace(path, O_RDONLY, kReadersFile).lock(LOCK_SH);
    since_ = since();
  }
  // What was read before counts only if it was kept until now.
  void check_kept(uint64_t transaction_id) const {
    const uint64_t now = since();
    if (now != since_ && now > transaction_id)
      throw Failure(CDB_REWOUND, "", "a writer that came later does not keep what it shows",
                    "open it again");
  }

 private:
  // The file that the next writer takes, wherever the directory is now.
  std::optional<struct stat> find() const {
    struct stat found;
    if (::fstatat(directory_.descriptor(), kReadersFile, &found, 0) != 0) return std::nullopt;
    return found;
  }
  bool is_ours(const struct stat &found) const {
    struct stat ours;
    return ::fstat(readers_->descriptor(), &ours) == 0 && ours.st_dev == found.st_dev &&
           ours.st_ino == found.st_ino;
  }
  uint64_t since() const {
    const std::optional<struct stat> found = find();
    if (!readers_.has_value()) return found ? UINT64_MAX : 0;
    if (found && !is_ours(*found)) return UINT64_MAX;  // a writer can't know that ours is locked
    uint64_t since = 0;
    return ::pread(readers_->descriptor(), &since, sizeof since, 0) == sizeof since ? since : 0;
  }

  const FileLock directory_;  // which is not locked
  std::optional<FileLock> readers_;
  uint64_t since_;
};

}  // namespace cdb::btree
