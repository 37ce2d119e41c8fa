// Which parts of a file were held against their checksums since it was opened: each is when it is
// first read.
#pragma once

#include "common/bytes.h"

#include <atomic>

namespace cdb::coin_log {

class Checked {
 public:
  // Any number of readers at once.
  bool has(size_t part) const { return __atomic_load_n(&are_[part], __ATOMIC_RELAXED) != 0; }
  void add(size_t part) {
    if (__atomic_exchange_n(&are_[part], uint8_t{1}, __ATOMIC_RELAXED) == 0) ++count_;
  }
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }  // so far
  bool are_all() const { return count() == are_.size(); }

  // Have so many parts. Nobody may read.
  void resize(size_t parts) { are_.resize(parts); }

 private:
  Bytes are_;  // one each: 1 if it was
  std::atomic<uint64_t> count_{0};
};

}  // namespace cdb::coin_log
