// Tables that are mapped by ourselves, so that a page which can't be read is an error and does not
// kill the process.
//
// A page that is lost reads as zeros, which the checksum of a block tells: RocksDB verifies each
// one that it reads. What it then keeps (indexes, the blocks of iterators and merges) is a copy.
// Lookups use blocks in place, at two thirds of the cost, and let go of them at once.
#pragma once

#include "common/lost_pages.h"
#include "rocksdb/files.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// As long as one lives, its thread reads tables in place.
class ReadingInPlace {
 public:
  ReadingInPlace() { is_on_ = true; }
  ReadingInPlace(const ReadingInPlace &) = delete;
  ReadingInPlace &operator=(const ReadingInPlace &) = delete;
  ~ReadingInPlace() { is_on_ = false; }
  static bool is_on() { return is_on_; }

 private:
  static inline thread_local bool is_on_ = false;
};

class MappedTable : public rocksdb::FSRandomAccessFile {
 public:
  MappedTable(void *bytes, size_t n, const std::string &path,
              const std::shared_ptr<cdb::LostPages> &lost)
      : bytes_(bytes),
        n_(n),
        path_(path),
        lost_(lost),
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
    if (!ReadingInPlace::is_on()) std::memcpy(scratch, found, n);
    *result = {ReadingInPlace::is_on() ? found : scratch, n};
    return lost_->any() ? rocksdb::IOStatus::IOError("a page can't be read", lost_->file())
                        : rocksdb::IOStatus::OK();
  }

 private:
  void *bytes_;
  size_t n_;
  std::string path_;
  std::shared_ptr<cdb::LostPages> lost_;
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
    *file = std::make_unique<MappedTable>(bytes, n, path, lost_);
    return rocksdb::IOStatus::OK();
  }

  static rocksdb::IOStatus failed(const std::string &path) {
    if (errno == ENOENT) return rocksdb::IOStatus::PathNotFound(path, std::strerror(errno));
    return rocksdb::IOStatus::IOError("while mapping " + path, std::strerror(errno));
  }

  std::shared_ptr<cdb::LostPages> lost_;
};
