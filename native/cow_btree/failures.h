// What both libraries fail of.
#pragma once

#include "common/failure.h"

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

// A write that the disk took a part of is EIO to them, whatever the reason.
inline bool is_full(int descriptor) {
  constexpr size_t kFullDiskBytes = size_t{1} << 20;  // fewer free bytes than these are no room
  struct statvfs disk;
  return ::fstatvfs(descriptor, &disk) == 0 && disk.f_bavail * disk.f_frsize < kFullDiskBytes;
}

}  // namespace cdb::btree
