// Memory for large tables that are read all over: in pages as large as the system has them, because
// each read of a small one would miss the address cache, too.
#pragma once

#include <cstddef>
#include <new>
#include <sys/mman.h>

namespace cdb {

template <typename T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <typename Other>
  HugePages(const HugePages<Other> &) {}

  T *allocate(size_t n) {
    void *const memory =
        ::mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    ::madvise(memory, n * sizeof(T), MADV_HUGEPAGE);
#endif
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t n) { ::munmap(memory, n * sizeof(T)); }

  bool operator==(const HugePages &) const { return true; }
  bool operator!=(const HugePages &) const { return false; }
};

}  // namespace cdb
