// An open file or directory, and a flock of it: for others who open it, also in this process.
//
// A child made by fork() closes it: else it would keep the lock when its parent is gone.
#pragma once

#include "failure.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <string>

namespace cdb {

class FileLock {
 public:
  // flags: of open(2). file: what a Failure calls it.
  FileLock(const std::string &path, int flags, const std::string &file) {
    const std::lock_guard<std::mutex> guard(open_mutex());
    descriptor_ = ::open(path.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (descriptor_ < 0)
      throw Failure(errno == ENOENT ? CDB_NOT_FOUND : CDB_IO, file, "it can't be opened")
          .because_of(errno);
    open_descriptors().insert(descriptor_);
  }
  ~FileLock() {
    const std::lock_guard<std::mutex> guard(open_mutex());
    open_descriptors().erase(descriptor_);
    ::close(descriptor_);
  }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;

  int descriptor() const { return descriptor_; }
  // Whether it is locked now. operation: LOCK_SH or LOCK_EX.
  bool try_lock(int operation) { return ::flock(descriptor_, operation | LOCK_NB) == 0; }
  // For those who hold it but for a moment.
  void lock(int operation) {
    while (::flock(descriptor_, operation) != 0)
      if (errno != EINTR) throw Failure(CDB_IO, "", "it can't be locked").because_of(errno);
  }
  void unlock() { ::flock(descriptor_, LOCK_UN); }

 private:
  static std::mutex &open_mutex() {
    static auto *const mutex = new std::mutex;
    return *mutex;
  }
  static std::set<int> &open_descriptors() {
    static auto *const all = [] {
      ::pthread_atfork([] { open_mutex().lock(); }, [] { open_mutex().unlock(); }, close_all);
      return new std::set<int>;
    }();
    return *all;
  }
  static void close_all() {
    for (const int descriptor : open_descriptors()) ::close(descriptor);
    open_descriptors().clear();
    open_mutex().unlock();
  }

  int descriptor_;
};

}  // namespace cdb
