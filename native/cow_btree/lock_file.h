// The lock file of a library, whose every page has to be on the disk before it is mapped.
//
// The libraries leave it sparse, and take a page of it when another thread reads for the first
// time: where the disk is full then, the process dies of SIGBUS.
#pragma once

#include "common/failure.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace cdb::btree {

// Before this process opens the environment: closing the file would end the library's own locks.
inline void reserve_lock_file(const std::string &directory, const char *name, off_t n_bytes) {
  const std::string path = directory + "/" + name;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor < 0) throw Failure(CDB_IO, name, "it can't be opened").because_of(errno);
  const int error = ::posix_fallocate(descriptor, 0, n_bytes);
  ::close(descriptor);
  if (error == ENOSPC || error == EDQUOT)
    throw Failure(CDB_NO_SPACE, name, "the disk is full").because_of(error);
  if (error != 0) throw Failure(CDB_IO, name, "it has no room").because_of(error);
}

}  // namespace cdb::btree
