// By row: the block that spends it, or 0.
//
// The spends of a block are entered before the block is there, beside readers: those of blocks
// above the newest one mean nothing to them.
#pragma once

#include "common/bytes.h"
#include "common/huge_pages.h"

#include <vector>

namespace cdb::coin_log {

class SpentRows {
 public:
  uint32_t operator[](size_t row) const { return __atomic_load_n(&rows_[row], __ATOMIC_RELAXED); }
  void set(size_t row, uint32_t block_index) {
    __atomic_store_n(&rows_[row], block_index, __ATOMIC_RELAXED);
  }
  void prefetch_row(size_t row) const { prefetch(&rows_[row]); }
  size_t size() const { return rows_.size(); }
  // Rows that are added are unspent. Nobody may read meanwhile.
  void resize(size_t n) { rows_.resize(n); }

 private:
  std::vector<uint32_t, HugePages<uint32_t>> rows_;
};

}  // namespace cdb::coin_log
