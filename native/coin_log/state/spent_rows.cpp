#include "coin_log/state/spent_rows.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {
constexpr size_t kFewestSlots = 1024;
}  // namespace

// Whoever sees the mark sees what is there, or what was: the block that spends the coin comes
// later.
void ChangedRows::set(uint32_t row, uint32_t value) {
  const uint32_t mark = row / kMarkedRows;
  __atomic_fetch_or(&marks_[mark / 64], uint64_t{1} << mark % 64, __ATOMIC_RELAXED);
  for (size_t at = place(row);; at = (at + 1) & (slots_.size() - 1)) {
    const uint64_t slot = __atomic_load_n(&slots_[at], __ATOMIC_RELAXED);
    if (slot != kFree && slot >> 32 != row) continue;
    if (slot == kFree) ++size_;
    __atomic_store_n(&slots_[at], uint64_t{row} << 32 | value, __ATOMIC_RELAXED);
    return;
  }
}

// At most every second slot is taken.
void ChangedRows::reserve(size_t n) {
  if (2 * (size_ + n) <= slots_.size()) return;
  const auto is_kept = [](uint64_t slot) {
    return slot != kFree && static_cast<uint32_t>(slot) != 0;
  };
  const size_t kept = static_cast<size_t>(std::count_if(slots_.begin(), slots_.end(), is_kept));
  size_t slots = kFewestSlots;
  while (slots / 2 < kept + n) slots *= 2;
  // So that this comes no more often than each so many rows.
  if (slots == slots_.size() && slots / 4 < kept + n) slots *= 2;
  std::vector<uint64_t> before(slots, kFree);
  before.swap(slots_);
  size_ = 0;
  for (const uint64_t slot : before)
    if (is_kept(slot)) set(static_cast<uint32_t>(slot >> 32), static_cast<uint32_t>(slot));
}

void SpentRows::adopt(std::shared_ptr<const Base> base) {
  n_based_ = base == nullptr ? 0 : base->rows();
  base_ = std::move(base);
  changed_ = ChangedRows(n_based_);
  decltype(newer_)().swap(newer_);
}

}  // namespace cdb::coin_log
