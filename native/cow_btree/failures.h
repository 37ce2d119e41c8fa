// What both libraries fail of.
#pragma once

#include "common/failure.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <new>
#include <string>

namespace cdb::btree {

// A transaction has no room left in the map.
struct MapFull {};

// Throws what a system's error number stands for.
[[noreturn]] inline void throw_system(int error, const char *file, const std::string &why) {
  if (error == ENOMEM) throw std::bad_alloc();
  if (error == ENOSPC || error == EDQUOT)
    throw Failure(CDB_NO_SPACE, file, "the disk is full (" + why + ")").because_of(error);
  throw Failure(CDB_IO, file, why).because_of(error);
}

// Why a file took a part of a write: to both libraries that is EIO, whatever the reason.
inline int reason_of_short_write(int descriptor) {
  constexpr size_t kFullDiskBytes = size_t{1} << 20;  // fewer free bytes than these are no room
  struct statvfs disk;
  if (::fstatvfs(descriptor, &disk) == 0 && disk.f_bavail * disk.f_frsize < kFullDiskBytes)
    return ENOSPC;
  struct rlimit most;
  struct stat file;
  const bool is_limited = ::getrlimit(RLIMIT_FSIZE, &most) == 0 && ::fstat(descriptor, &file) == 0;
  return is_limited && static_cast<rlim_t>(file.st_size) >= most.rlim_cur ? EFBIG : EIO;
}

}  // namespace cdb::btree
