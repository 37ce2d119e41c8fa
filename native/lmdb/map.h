// The mapping of LMDB's file: how large it may be, and where it is, which LMDB does not say.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cdb::lmdb {

// No memory, and of the disk only what is written: addresses.
constexpr size_t kMostMapBytes = size_t{1} << 38;
constexpr size_t kLeastMapBytes = size_t{1} << 20;
constexpr size_t kPageBytes = 1u << 16;
constexpr size_t kLeastFileBytes = 2u << 12;  // two pages that say where the roots are

// Whether a process that may not have any number of addresses can have so many.
inline bool has_addresses(size_t n_bytes) {
  void *const there =
      ::mmap(nullptr, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return there != MAP_FAILED && ::munmap(there, n_bytes) == 0;
}

// About so many, but no other map of this process has as many: by that it is found.
inline size_t own_map_bytes(size_t n_bytes) {
  static std::atomic<size_t> n_maps{0};
  return n_bytes + ++n_maps * kPageBytes;
}

inline size_t file_bytes(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
}

// For a file of so many. Most addresses are left to others.
inline size_t first_map_bytes(size_t n_file_bytes) {
  size_t n_bytes = kMostMapBytes;
  while (n_bytes > kLeastMapBytes && !has_addresses(8 * n_bytes)) n_bytes /= 2;
  return own_map_bytes(std::max(n_bytes, 2 * n_file_bytes));
}

// Where so many bytes are mapped; null where the system does not tell.
inline void *find_map(size_t n_bytes) {
  std::FILE *const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return nullptr;
  char line[512];
  uintptr_t begin = 0, end = 0, found = 0;
  while (std::fgets(line, sizeof line, maps) != nullptr)
    if (std::sscanf(line, "%lx-%lx", &begin, &end) == 2 && end - begin == n_bytes) found = begin;
  std::fclose(maps);
  return reinterpret_cast<void *>(found);
}

}  // namespace cdb::lmdb
