// The mapping of a library's file: how large it may be, and where it is, which they do not say.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cdb::btree {

// No memory, and of the disk only what is written: addresses.
constexpr size_t kMostMapBytes = size_t{1} << 38;
constexpr size_t kLeastMapBytes = size_t{1} << 20;

// Whether a process that may not have any number of addresses can have so many.
inline bool has_addresses(size_t n_bytes) {
  void *const there =
      ::mmap(nullptr, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return there != MAP_FAILED && ::munmap(there, n_bytes) == 0;
}

inline size_t file_bytes(const std::string &path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
}

// For a file of so many. Most addresses are left to others.
inline size_t first_map_bytes(size_t n_file_bytes) {
  size_t n_bytes = kMostMapBytes;
  while (n_bytes > kLeastMapBytes && !has_addresses(8 * n_bytes)) n_bytes /= 2;
  return std::max(n_bytes, 2 * n_file_bytes);
}

// Where the file is mapped of which is_wanted(begin, bytes) is a part; null where the system does
// not tell.
template <typename IsWanted>
void *find_map(IsWanted is_wanted) {
  std::FILE *const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return nullptr;
  char line[512];
  uintptr_t begin, end, found = 0;
  unsigned long offset;
  while (found == 0 && std::fgets(line, sizeof line, maps) != nullptr)
    if (std::sscanf(line, "%lx-%lx %*s %lx", &begin, &end, &offset) == 3 &&
        is_wanted(begin, end - begin))
      found = begin - offset;
  std::fclose(maps);
  return reinterpret_cast<void *>(found);
}

}  // namespace cdb::btree
