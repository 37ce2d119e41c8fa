// Write-ahead logs that are written over zeros.
//
// After a write that makes a file longer, or goes to space that is merely allocated, fdatasync has
// to commit the file system's journal too. So logs are filled with zeros some way ahead, which
// RocksDB skips when it reads a log after a crash.
#pragma once

#include "rocksdb/files.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

class ZeroedLogFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  ZeroedLogFile(std::unique_ptr<rocksdb::FSWritableFile> &&file, const std::string &path)
      : rocksdb::FSWritableFileOwnerWrapper(std::move(file)),
        descriptor_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)) {}
  ZeroedLogFile(const ZeroedLogFile &) = delete;
  ZeroedLogFile &operator=(const ZeroedLogFile &) = delete;
  ~ZeroedLogFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  // Comes before each write, in place of allocation. Where zeros fail, the write will say so.
  void PrepareWrite(size_t offset, size_t n, const rocksdb::IOOptions &,
                    rocksdb::IODebugContext *) override {
    if (offset + n <= zeroed_end_) return;
    const size_t page_after_log = (offset + kZeros.size() - 1) / kZeros.size() * kZeros.size();
    const size_t last_page = (offset + n) / kZeros.size() * kZeros.size();
    zeroed_end_ = std::max({zeroed_end_, page_after_log, last_page});
    // Small writes: the page cache writes back whole what was written at once.
    for (const size_t end = zeroed_end_ + kAheadBytes; zeroed_end_ < end;
         zeroed_end_ += kZeros.size())
      if (::pwrite(descriptor_, kZeros.data(), kZeros.size(), static_cast<off_t>(zeroed_end_)) < 0)
        return;
  }

 private:
  static constexpr size_t kAheadBytes = 256u << 10;
  static constexpr std::array<char, 4096> kZeros{};

  int descriptor_;
  size_t zeroed_end_ = 0;
};

class ZeroedLogs : public rocksdb::FileSystemWrapper {
 public:
  using rocksdb::FileSystemWrapper::FileSystemWrapper;
  const char *Name() const override { return "ZeroedLogs"; }

  rocksdb::IOStatus NewWritableFile(const std::string &path, const rocksdb::FileOptions &options,
                                    std::unique_ptr<rocksdb::FSWritableFile> *file,
                                    rocksdb::IODebugContext *debug) override {
    const rocksdb::IOStatus status =
        rocksdb::FileSystemWrapper::NewWritableFile(path, options, file, debug);
    if (status.ok() && ends_with(path, ".log"))
      *file = std::make_unique<ZeroedLogFile>(std::move(*file), path);
    return status;
  }
};
