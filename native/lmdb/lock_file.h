// LMDB's lock file, whose every page has to be on the disk before LMDB maps it.
//
// LMDB leaves it sparse, and takes a page of it when another thread reads for the first time: where
// the disk is full then, the process dies of SIGBUS.
#pragma once

#include "common.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

namespace cdb::lmdb {

constexpr const char *kLockFile = "lock.mdb";
constexpr off_t kLockFileBytes = 1 << 17;  // more than LMDB's header and all its readers take

// Before this process opens the environment: closing the file would end LMDB's own locks.
inline void reserve_lock_file(const std::string &directory) {
  const std::string path = directory + "/" + kLockFile;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor < 0) throw Failure(CDB_IO, kLockFile, "it can't be opened").because_of(errno);
  const int status = ::posix_fallocate(descriptor, 0, kLockFileBytes);
  ::close(descriptor);
  if (status == ENOSPC || status == EDQUOT)
    throw Failure(CDB_NO_SPACE, kLockFile, "the disk is full").because_of(status);
  if (status != 0) throw Failure(CDB_IO, kLockFile, "it has no room").because_of(status);
}

}  // namespace cdb::lmdb
