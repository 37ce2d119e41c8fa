// Tables that are mapped by ourselves, so that a page which can't be read is an error and does not
// kill the process.
//
// A page that is lost reads as zeros, which the checksum of a block tells: RocksDB verifies each
// one that it reads. What it then keeps (indexes, the blocks of iterators and merges) is a copy.
// Lookups use blocks in place, at two thirds of the cost, and let go of them at once.
//
// A block that is not in memory is read alone: as it is, Linux reads as much around a mapped page
// as the disk's read-ahead says, up to some MB. Where a scan or a merge goes on, what follows is
// asked for ahead; and where most of a table is wanted, what is around.
#pragma once

#include "common/lost_pages.h"
#include "rocksdb/files.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

// As long as one lives, its thread reads tables in place; and most of them, or a little.
class ReadingInPlace {
 public:
  explicit ReadingInPlace(bool reads_most) {
    is_on_ = true;
    reads_most_ = reads_most;
  }
  ReadingInPlace(const ReadingInPlace &) = delete;
  ReadingInPlace &operator=(const ReadingInPlace &) = delete;
  ~ReadingInPlace() { is_on_ = false; }
  static bool is_on() { return is_on_; }
  static bool reads_most() { return reads_most_; }

 private:
  static inline thread_local bool is_on_ = false, reads_most_ = false;
};

class MappedTable : public rocksdb::FSRandomAccessFile {
 public:
  MappedTable(void *bytes, size_t n, const std::string &path,
              const std::shared_ptr<cdb::LostPages> &lost)
      : bytes_(bytes),
        n_(n),
        path_(path),
        lost_(lost),
        asked_around_((n + kAskedBytes - 1) / kAskedBytes),
        guard_(std::make_unique<cdb::GuardedMapping>(bytes, n, path.substr(path.rfind('/') + 1),
                                                     lost)) {}
  MappedTable(const MappedTable &) = delete;
  MappedTable &operator=(const MappedTable &) = delete;
  ~MappedTable() override {
    guard_.reset();
    ::munmap(bytes_, n_);
  }

  rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions &,
                         rocksdb::Slice *result, char *scratch,
                         rocksdb::IODebugContext *) const override {
    if (offset > n_) return rocksdb::IOStatus::Corruption("it is cut", path_);
    const char *const found = static_cast<const char *>(bytes_) + offset;
    n = std::min(n, n_ - static_cast<size_t>(offset));
    if (!ReadingInPlace::is_on()) {
      if (n > kFirstAskedBytes) ask_for(offset, offset + n);  // a filter or an index, at once
      ask_ahead(offset, n);
      std::memcpy(scratch, found, n);
    } else if (ReadingInPlace::reads_most()) {
      ask_around(offset);
    }
    *result = {ReadingInPlace::is_on() ? found : scratch, n};
    return lost_->any() ? rocksdb::IOStatus::IOError("a page can't be read", lost_->file())
                        : rocksdb::IOStatus::OK();
  }

 private:
  static constexpr uint64_t kPageBytes = 4u << 10;
  static constexpr uint64_t kAskedBytes = 256u << 10;
  static constexpr uint64_t kFirstAskedBytes = 16u << 10;

  // The longer it goes on, the more, as Linux does. Threads that scan one table at a time may ask
  // for too little, or twice.
  void ask_ahead(uint64_t offset, size_t n) const {
    const uint64_t end = offset + n;
    if (next_.exchange(end, std::memory_order_relaxed) != offset) {
      asked_.store(end, std::memory_order_relaxed);
      window_.store(kFirstAskedBytes, std::memory_order_relaxed);
      return;
    }
    const uint64_t asked = std::max(asked_.load(std::memory_order_relaxed), end);
    const uint64_t window = window_.load(std::memory_order_relaxed);
    if (asked >= n_ || asked - end > window / 2) return;
    asked_.store(end + window, std::memory_order_relaxed);
    window_.store(std::min(2 * window, 2 * kAskedBytes), std::memory_order_relaxed);
    ask_for(asked, end + window);
  }

  // Each part once, until as many blocks were read as there are pages: then they may have left the
  // memory again.
  void ask_around(uint64_t offset) const {
    if (offset >= n_) return;  // where damage leads
    if (n_read_around_.fetch_add(1, std::memory_order_relaxed) >= n_ / kPageBytes) {
      n_read_around_.store(0, std::memory_order_relaxed);
      for (std::atomic<bool> &each : asked_around_) each.store(false, std::memory_order_relaxed);
    }
    const size_t part = offset / kAskedBytes;
    if (asked_around_[part].exchange(true, std::memory_order_relaxed)) return;
    ask_for(part * kAskedBytes, (part + 1) * kAskedBytes);
  }

  void ask_for(uint64_t first, uint64_t end) const {
    static const auto page_bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    first = first / page_bytes * page_bytes;
    end = std::min<uint64_t>(n_, end);
    ::madvise(static_cast<char *>(bytes_) + first, end - first, MADV_WILLNEED);
  }

  void *bytes_;
  size_t n_;
  std::string path_;
  std::shared_ptr<cdb::LostPages> lost_;
  mutable std::atomic<uint64_t> next_{UINT64_MAX};  // where a read would go on
  mutable std::atomic<uint64_t> asked_{0};          // until where is asked for
  mutable std::atomic<uint64_t> window_{kFirstAskedBytes};
  mutable std::vector<std::atomic<bool>> asked_around_;
  mutable std::atomic<uint64_t> n_read_around_{0};
  std::unique_ptr<cdb::GuardedMapping> guard_;
};

class MappedTables : public rocksdb::FileSystemWrapper {
 public:
  MappedTables(const std::shared_ptr<rocksdb::FileSystem> &files,
               const std::shared_ptr<cdb::LostPages> &lost)
      : rocksdb::FileSystemWrapper(files), lost_(lost) {}
  const char *Name() const override { return "MappedTables"; }

  rocksdb::IOStatus NewRandomAccessFile(const std::string &path,
                                        const rocksdb::FileOptions &options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile> *file,
                                        rocksdb::IODebugContext *debug) override {
    if (!options.use_mmap_reads)
      return rocksdb::FileSystemWrapper::NewRandomAccessFile(path, options, file, debug);
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return failed(path);
    rocksdb::IOStatus status = map(descriptor, path, file);
    ::close(descriptor);
    return status;
  }

 private:
  rocksdb::IOStatus map(int descriptor, const std::string &path,
                        std::unique_ptr<rocksdb::FSRandomAccessFile> *file) {
    struct stat about = {};
    if (::fstat(descriptor, &about) != 0) return failed(path);
    if (about.st_size == 0) return rocksdb::IOStatus::Corruption("it is empty", path);
    const auto n = static_cast<size_t>(about.st_size);
    void *const bytes = ::mmap(nullptr, n, PROT_READ, MAP_SHARED, descriptor, 0);
    if (bytes == MAP_FAILED) return failed(path);
    ::madvise(bytes, n, MADV_RANDOM);
    *file = std::make_unique<MappedTable>(bytes, n, path, lost_);
    return rocksdb::IOStatus::OK();
  }

  static rocksdb::IOStatus failed(const std::string &path) {
    if (errno == ENOENT) return rocksdb::IOStatus::PathNotFound(path, std::strerror(errno));
    return rocksdb::IOStatus::IOError("while mapping " + path, std::strerror(errno));
  }

  std::shared_ptr<cdb::LostPages> lost_;
};
