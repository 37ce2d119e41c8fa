// Whether the process may map so many bytes more: a limit of its addresses (ulimit -v) says no.
#pragma once

#include <sys/mman.h>

#include <cstddef>

namespace cdb {

inline bool has_addresses_for(size_t bytes) {
  void *const map =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return false;
  ::munmap(map, bytes);
  return true;
}

}  // namespace cdb
