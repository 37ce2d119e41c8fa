// Files as every module over RocksDB has them: what RocksDB 7.8 makes of two errors costs nothing.
//
// - When the fsync of its manifest fails during an ingestion, it deletes the ingested tables. But
// the
//   manifest may reach the disk all the same, and names them. So no table goes once a manifest is
//   in doubt: the next opening sees which it names, and deletes the rest.
// - A table that it can't read while it takes it in, it believes to be empty. So nothing goes into
// a
//   manifest once a read has failed.
//
// And a manifest changes only while nobody opens the database for reading
// (rocksdb/manifest_lock.h).
#pragma once

#include "common/fault_points.h"
#include "manifest_lock.h"

#include <rocksdb/file_system.h>
#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

inline bool ends_with(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// What went wrong with the files of one database.
struct Failures {
  std::atomic<bool> of_manifest{false};
  std::atomic<bool> of_read{false};
};

class WatchedTable : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  WatchedTable(std::unique_ptr<rocksdb::FSRandomAccessFile> &&file, Failures *failures)
      : rocksdb::FSRandomAccessFileOwnerWrapper(std::move(file)), failures_(failures) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions &options,
                         rocksdb::Slice *result, char *scratch,
                         rocksdb::IODebugContext *debug) const override {
    rocksdb::IOStatus status =
        rocksdb::FSRandomAccessFileOwnerWrapper::Read(offset, n, options, result, scratch, debug);
    if (!status.ok()) failures_->of_read = true;
    return status;
  }

  // Each of them by Read().
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest *requests, size_t n,
                              const rocksdb::IOOptions &options,
                              rocksdb::IODebugContext *debug) override {
    return rocksdb::FSRandomAccessFile::MultiRead(requests, n, options, debug);
  }

 private:
  Failures *failures_;
};

class WatchedManifest : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedManifest(std::unique_ptr<rocksdb::FSWritableFile> &&file, std::string directory,
                  Failures *failures)
      : rocksdb::FSWritableFileOwnerWrapper(std::move(file)),
        directory_(std::move(directory)),
        failures_(failures) {}

  rocksdb::IOStatus Append(const rocksdb::Slice &data, const rocksdb::IOOptions &options,
                           rocksdb::IODebugContext *debug) override {
    if (failures_->of_read) return refused();
    const ManifestLock lock(directory_, LOCK_EX);
    return rocksdb::FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice &data, const rocksdb::IOOptions &options,
                           const rocksdb::DataVerificationInfo &verification,
                           rocksdb::IODebugContext *debug) override {
    if (failures_->of_read) return refused();
    const ManifestLock lock(directory_, LOCK_EX);
    return rocksdb::FSWritableFileOwnerWrapper::Append(data, options, verification, debug);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions &options,
                         rocksdb::IODebugContext *debug) override {
    return synced(rocksdb::FSWritableFileOwnerWrapper::Sync(options, debug));
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions &options,
                          rocksdb::IODebugContext *debug) override {
    return synced(rocksdb::FSWritableFileOwnerWrapper::Fsync(options, debug));
  }

 private:
  static rocksdb::IOStatus refused() {
    return rocksdb::IOStatus::IOError("nothing is written, because a read failed before");
  }
  rocksdb::IOStatus synced(rocksdb::IOStatus status) {
    if (!status.ok() && !CDB_FAULT("manifest-sync-error-forgotten")) failures_->of_manifest = true;
    return status;
  }

  const std::string directory_;
  Failures *failures_;
};

// The one writer in this process that a directory may have.
class Writer {
 public:
  Writer() = default;
  ~Writer() {
    const std::lock_guard<std::mutex> guard(mutex());
    if (is_claimed_) claimed().erase(directory_);
  }
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  // Whether it is this one's from now on.
  bool claim(const std::string &directory) {
    struct stat about = {};
    if (::stat(directory.c_str(), &about) != 0) return true;  // as opening its files will tell
    const std::lock_guard<std::mutex> guard(mutex());
    directory_ = {about.st_dev, about.st_ino};
    is_claimed_ = claimed().insert(directory_).second;
    return is_claimed_;
  }

 private:
  using Directory = std::pair<dev_t, ino_t>;
  static std::mutex &mutex() {
    static auto *const mutex = new std::mutex;
    return *mutex;
  }
  static std::set<Directory> &claimed() {
    static auto *const all = new std::set<Directory>;
    return *all;
  }

  Directory directory_{};
  bool is_claimed_ = false;
};

class CarefulFiles : public rocksdb::FileSystemWrapper {
 public:
  using rocksdb::FileSystemWrapper::FileSystemWrapper;
  const char *Name() const override { return "CarefulFiles"; }

  rocksdb::IOStatus NewRandomAccessFile(const std::string &path,
                                        const rocksdb::FileOptions &options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile> *file,
                                        rocksdb::IODebugContext *debug) override {
    rocksdb::IOStatus status =
        rocksdb::FileSystemWrapper::NewRandomAccessFile(path, options, file, debug);
    if (status.ok()) *file = std::make_unique<WatchedTable>(std::move(*file), &failures_);
    return status;
  }

  rocksdb::IOStatus NewWritableFile(const std::string &path, const rocksdb::FileOptions &options,
                                    std::unique_ptr<rocksdb::FSWritableFile> *file,
                                    rocksdb::IODebugContext *debug) override {
    rocksdb::IOStatus status =
        rocksdb::FileSystemWrapper::NewWritableFile(path, options, file, debug);
    const size_t name = path.rfind('/');
    if (status.ok() && path.find("/MANIFEST-", name) != std::string::npos)
      *file = std::make_unique<WatchedManifest>(std::move(*file), path.substr(0, name), &failures_);
    return status;
  }

  // RocksDB's own lock is one of processes, and within this one goes by the file's path.
  rocksdb::IOStatus LockFile(const std::string &path, const rocksdb::IOOptions &options,
                             rocksdb::FileLock **lock, rocksdb::IODebugContext *debug) override {
    if (!writer_.claim(path.substr(0, path.rfind('/'))))
      return rocksdb::IOStatus::IOError("lock hold by current process", path);
    return rocksdb::FileSystemWrapper::LockFile(path, options, lock, debug);
  }

  rocksdb::IOStatus DeleteFile(const std::string &path, const rocksdb::IOOptions &options,
                               rocksdb::IODebugContext *debug) override {
    if (failures_.of_manifest && ends_with(path, ".sst"))
      return rocksdb::IOStatus::IOError("kept, since a manifest may name it", path);
    return rocksdb::FileSystemWrapper::DeleteFile(path, options, debug);
  }

 private:
  Failures failures_;
  Writer writer_;
};
