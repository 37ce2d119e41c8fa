// What every module over RocksDB shares: how its statuses and exceptions cross a C boundary, a log
// that is never written, and compaction.
//
// Include it after the header that declares cdb_status: each module's own face has the same one.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <vector>

// RocksDB has no status of its own for a lock that somebody holds: it says so in words, one set
// for another process and one for this one.
inline bool is_lock_failure(const std::string &text) {
  return text.find("While lock file") != std::string::npos ||
         text.find("lock hold by current process") != std::string::npos;
}

inline cdb_status code_of(const rocksdb::Status &status, const std::string &text) {
  if (status.IsCorruption()) return CDB_CORRUPT;
  if (status.IsNoSpace()) return CDB_NO_SPACE;
  if (status.IsIOError()) return is_lock_failure(text) ? CDB_LOCKED : CDB_IO;
  if (status.IsTryAgain()) return CDB_LOCKED;
  if (status.IsNotFound()) return CDB_NOT_FOUND;
  if (status.IsNotSupported()) return CDB_FOREIGN;
  if (status.IsAborted()) return CDB_CLOSED;
  if (status.IsInvalidArgument()) return CDB_INVALID;
  if (status.IsMemoryLimit()) return CDB_NO_MEMORY;
  return CDB_FAILED;
}

inline cdb_status fail(cdb_status code, const char *text, char **error) noexcept {
  *error = strdup(text);
  return code;
}

// Runs body, which returns a Status; neither that type nor an exception gets further.
template <typename Body>
cdb_status guarded(char **error, Body body) noexcept {
  try {
    const rocksdb::Status status = body();
    if (status.ok()) return CDB_OK;
    const std::string text = status.ToString();
    return fail(code_of(status, text), text.c_str(), error);
  } catch (const std::bad_alloc &) {
    return fail(CDB_NO_MEMORY, "out of memory", error);
  } catch (const std::exception &exception) {
    return fail(CDB_FAILED, exception.what(), error);
  } catch (...) {
    return fail(CDB_FAILED, "unknown C++ exception", error);
  }
}

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
