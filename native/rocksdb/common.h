// What every module over RocksDB shares: its statuses as failures, a log that is never written, and
// compaction.
#pragma once

#include "common/failure.h"
#include "common/held_directory.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// RocksDB has no status of its own for a lock that somebody holds: it says so in words, one set
// for another process and one for this one.
inline bool is_lock_failure(const std::string &text) {
  return text.find("While lock file") != std::string::npos ||
         text.find("lock hold by current process") != std::string::npos;
}

// Nor is the system's error number among its fields. Of those whose reasons the text has, the one
// whose reason comes last, and is the longest there; 0 if there is none.
inline int errno_in(const std::string &text) {
  constexpr int kMostErrno = 133;
  std::pair<size_t, size_t> best{0, 0};
  int found = 0;
  for (int number = 1; number <= kMostErrno; ++number) {
    const std::string reason = std::strerror(number);
    const size_t place = text.rfind(reason);
    if (place == std::string::npos) continue;
    const std::pair<size_t, size_t> end{place + reason.size(), reason.size()};
    if (end > best) best = end, found = number;
  }
  return found;
}

// Nor is the file that is damaged: a table, also where the manifest leads to it, or what RocksDB
// calls the file. It may say that in full; its files lie in one directory.
inline std::string file_in(const std::string &text) {
  for (const char *ending : {".sst", ".ldb"}) {  // a missing one is looked for by its old name, too
    const size_t table = text.find(ending);
    if (table == std::string::npos || table == 0) continue;
    const size_t name = text.find_last_not_of("0123456789", table - 1) + 1;
    return text.substr(name, table - name) + ".sst";
  }
  constexpr char kBefore[] = "in file ";
  size_t begin = text.find(kBefore);
  if (begin == std::string::npos) return "";
  begin += sizeof(kBefore) - 1;
  const std::string file = text.substr(begin, text.find_first_of(" :;", begin) - begin);
  return file.substr(file.rfind('/') + 1);
}

// Whether the system would give the same file another time, or to somebody else.
inline bool is_refusal(int number) {
  return number == EMFILE || number == ENFILE || number == ENOMEM || number == EACCES;
}

inline cdb::Failure failure_of(const rocksdb::Status &status) {
  const std::string text = without_descriptors(status.ToString());
  const std::string why = " (" + text + ")";
  // Where the system refused a file that RocksDB needs as it opens, it may call that a corruption.
  // A file that isn't there may well be one: a damaged manifest names it.
  if (status.IsCorruption() && text.find("IO error: ") != std::string::npos &&
      is_refusal(errno_in(text)))
    return cdb::Failure(CDB_IO, "", "reading or writing failed" + why).because_of(errno_in(text));
  if (status.IsCorruption()) return {CDB_CORRUPT, file_in(text), "damage was found" + why};
  if (status.IsTryAgain() || (status.IsIOError() && is_lock_failure(text)))
    return {CDB_LOCKED, "", "somebody has it open for writing", "close it there first"};
  if (status.IsNoSpace() || (status.IsIOError() && errno_in(text) == ENOSPC))
    return cdb::Failure(CDB_NO_SPACE, "", "the disk is full" + why).because_of(ENOSPC);
  if (status.IsIOError())
    return cdb::Failure(CDB_IO, "", "reading or writing failed" + why).because_of(errno_in(text));
  if (status.IsNotFound()) return {CDB_NOT_FOUND, "", "no RocksDB database is here" + why};
  if (status.IsNotSupported())
    return {CDB_FOREIGN, "", "this RocksDB cannot read it" + why,
            "use the one that wrote it, or load it anew"};
  if (status.IsAborted()) return {CDB_CLOSED, "", "RocksDB gave it up" + why, "open it again"};
  if (status.IsInvalidArgument()) return {CDB_INVALID, "", text};
  if (status.IsMemoryLimit()) return {CDB_NO_MEMORY, "", text};
  return {CDB_FAILED, "", "RocksDB failed" + why, "open it again"};
}

inline void check(const rocksdb::Status &status) {
  if (!status.ok()) throw failure_of(status);
}

// Where RocksDB puts a database that it opens: 7.8 asks for a pointer of its own, 11 for a
// unique_ptr.
class OpenedInto {
 public:
  explicit OpenedInto(std::unique_ptr<rocksdb::DB> &db) : db_(db) {}
  ~OpenedInto() {
    if (opened_ != nullptr) db_.reset(opened_);
  }
  OpenedInto(const OpenedInto &) = delete;
  OpenedInto &operator=(const OpenedInto &) = delete;
  operator rocksdb::DB **() { return &opened_; }
  operator std::unique_ptr<rocksdb::DB> *() { return &db_; }

 private:
  std::unique_ptr<rocksdb::DB> &db_;
  rocksdb::DB *opened_ = nullptr;
};

// RocksDB's LOG file is not written at all: it would change a directory that is opened read-only,
// and on a full disk the second line that cannot be logged ends the process, by an assertion that
// Debian's library is built with.
class SilentLogger : public rocksdb::Logger {
 public:
  SilentLogger() : Logger(rocksdb::HEADER_LEVEL) {}
  using Logger::Logv;
  void Logv(const char *, va_list) override {}
};

// Whether all rows are in the last level: one sorted run, which nothing was erased from.
inline bool is_compact(rocksdb::DB &db, rocksdb::ColumnFamilyHandle *family) {
  rocksdb::ColumnFamilyMetaData data;
  db.GetColumnFamilyMetaData(family, &data);
  return std::all_of(data.levels.begin(), data.levels.end() - 1,
                     [](const rocksdb::LevelMetaData &level) { return level.files.empty(); });
}

inline bool is_compacting(rocksdb::DB &db, rocksdb::ColumnFamilyHandle *family) {
  uint64_t running = 0, pending = 0;
  db.GetIntProperty(rocksdb::DB::Properties::kNumRunningCompactions, &running);
  db.GetIntProperty(family, rocksdb::DB::Properties::kCompactionPending, &pending);
  return running + pending > 0;
}

// Merges all runs of each family, and returns when nothing is left to be done in the background.
inline rocksdb::Status compact(rocksdb::DB &db,
                               const std::vector<rocksdb::ColumnFamilyHandle *> &families) {
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = true;
  for (rocksdb::ColumnFamilyHandle *family : families) {
    if (is_compact(db, family)) continue;
    const rocksdb::Status status = db.CompactRange(options, family, nullptr, nullptr);
    if (!status.ok()) return status;
    // A level that has become too large for its place goes on to the next one by itself.
    while (is_compacting(db, family)) {
      uint64_t errors = 0;
      db.GetIntProperty(rocksdb::DB::Properties::kBackgroundErrors, &errors);
      if (errors > 0) return rocksdb::Status::IOError("a compaction in the background failed");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return rocksdb::Status::OK();
}
