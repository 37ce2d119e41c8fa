// Reads through a mapping wait for the disk one after the other. Once they have been seen to, those
// of a group are announced before they happen, and go side by side.
#pragma once

#include "common/bytes.h"

namespace cdb::coin_log {

// How many reads through mappings have waited for the disk, in this thread so far.
long disk_faults();

class ColdReads {
 public:
  // Asked once before a group of n: whether it is to be announced.
  bool are_likely(size_t n);
  // Some bytes at each of the addresses are about to be read: no more than a page.
  void announce(const uint8_t *const *addresses, size_t n, size_t bytes);

 private:
  bool is_cold_ = false;  // as the last group was
  long faults_ = 0;
};

}  // namespace cdb::coin_log
