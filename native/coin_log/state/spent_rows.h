// By row: the block that spends it, or 0. Of the base's rows the base tells it, and a table in
// memory what came since; all others are in memory.
//
// The spends of a block are entered before the block is there, beside readers: those of blocks
// above the newest one mean nothing to them.
#pragma once

#include "coin_log/format/base.h"
#include "common/huge_pages.h"
#include "common/keyed_hash.h"

#include <vector>

namespace cdb::coin_log {

// Some rows, and what there is to say of each. A peer can choose which ones.
class ChangedRows {
 public:
  // Of so many rows.
  explicit ChangedRows(size_t rows) : marks_(rows / kMarkedRows / 64 + 1) {}

  size_t size() const { return size_; }
  // False where nothing is said of the row. Any number of readers beside one who sets.
  bool find(uint32_t row, uint32_t *value) const {
    if (!is_marked(row)) return false;
    for (size_t at = place(row);; at = (at + 1) & (slots_.size() - 1)) {
      const uint64_t slot = __atomic_load_n(&slots_[at], __ATOMIC_RELAXED);
      if (slot == kFree) return false;
      if (slot >> 32 != row) continue;
      *value = static_cast<uint32_t>(slot);
      return true;
    }
  }
  // It was reserved for. 0 is what is said of all others, too: of blocks that are refused nothing
  // stays.
  void set(uint32_t row, uint32_t value);
  // Make room for n rows more. Nobody may read meanwhile.
  void reserve(size_t n);
  void prefetch_row(uint32_t row) const {
    if (is_marked(row)) prefetch(&slots_[place(row)]);
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};  // no row has the number kNoRow
  static constexpr uint32_t kMarkedRows = 64;

  bool is_marked(uint32_t row) const {
    const uint32_t mark = row / kMarkedRows;
    return (__atomic_load_n(&marks_[mark / 64], __ATOMIC_RELAXED) >> mark % 64 & 1) != 0;
  }

  // The count of slots is a power of two.
  size_t place(uint32_t row) const {
    return hash_.of(std::array<uint64_t, 1>{row}) & (slots_.size() - 1);
  }

  KeyedHash hash_{random_hash_key()};
  // A bit for some rows together, whether anything is said of one: it is of few, and that shows in
  // memory that stays near.
  std::vector<uint64_t> marks_;
  std::vector<uint64_t> slots_;
  size_t size_ = 0;
};

class SpentRows {
 public:
  uint32_t operator[](size_t row) const {
    if (row >= n_based_) return __atomic_load_n(&newer_[row - n_based_], __ATOMIC_RELAXED);
    uint32_t index = 0;
    const uint32_t based = static_cast<uint32_t>(row);
    return changed_.find(based, &index) ? index : base_->spent(based);
  }
  // Of one of the base's rows: it was reserved for.
  void set(size_t row, uint32_t block_index) {
    if (row < n_based_)
      changed_.set(static_cast<uint32_t>(row), block_index);
    else
      __atomic_store_n(&newer_[row - n_based_], block_index, __ATOMIC_RELAXED);
  }
  // About to set n rows. Nobody may read meanwhile.
  void reserve(size_t n) {
    if (n_based_ > 0) changed_.reserve(n);
  }
  void prefetch_row(size_t row) const {
    if (row >= n_based_) return prefetch(&newer_[row - n_based_]);
    changed_.prefetch_row(static_cast<uint32_t>(row));
    base_->prefetch_group(static_cast<uint32_t>(row));
  }
  // Some time later.
  void prefetch_row_further(size_t row) const {
    if (row < n_based_) base_->prefetch_spent(static_cast<uint32_t>(row));
  }
  size_t size() const { return n_based_ + newer_.size(); }
  size_t based() const { return n_based_; }  // how many rows the base has
  // Of the base's rows, of how many something else is said.
  size_t changed() const { return changed_.size(); }
  // Keep so many, at least the base's. Rows that are added are unspent. Nobody may read meanwhile.
  void resize(size_t n) { newer_.resize(n - n_based_); }
  // Have the rows of a base, or of none; behind those there are none. The same.
  void adopt(std::shared_ptr<const Base> base);

 private:
  std::shared_ptr<const Base> base_;
  size_t n_based_ = 0;
  ChangedRows changed_{0};
  std::vector<uint32_t, HugePages<uint32_t>> newer_;
};

}  // namespace cdb::coin_log
