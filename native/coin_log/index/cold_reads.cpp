#include "coin_log/index/cold_reads.h"

#include <sys/mman.h>
#include <sys/resource.h>

namespace cdb::coin_log {

long disk_faults() {
#ifdef RUSAGE_THREAD
  rusage usage;
  if (::getrusage(RUSAGE_THREAD, &usage) == 0) return usage.ru_majflt;
#endif
  return 0;
}

namespace {

constexpr uintptr_t kPageBytes = 4096;
constexpr size_t kFew = 8;  // for so few it does not pay to ask what has come from the disk

// Returns whether it was in memory already.
bool fetch_page(uintptr_t page) {
  void *const address = reinterpret_cast<void *>(page);
  unsigned char is_resident = 1;
  if (::mincore(address, kPageBytes, &is_resident) != 0 || (is_resident & 1) != 0) return true;
  ::madvise(address, kPageBytes, MADV_WILLNEED);
  return false;
}

}  // namespace

bool ColdReads::are_likely(size_t n) {
  if (n < kFew) return false;
  const long faults = disk_faults();
  const bool likely = is_cold_ || faults != faults_;
  faults_ = faults;
  is_cold_ = false;
  return likely;
}

void ColdReads::announce(const uint8_t *const *addresses, size_t n, size_t bytes) {
  for (size_t i = 0; i < n; ++i) {
    const uintptr_t first = reinterpret_cast<uintptr_t>(addresses[i]) / kPageBytes * kPageBytes;
    const uintptr_t end = reinterpret_cast<uintptr_t>(addresses[i]) + bytes;
    for (uintptr_t page = first; page < end; page += kPageBytes)
      if (!fetch_page(page)) is_cold_ = true;
  }
}

}  // namespace cdb::coin_log
