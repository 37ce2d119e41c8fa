#include "early_children.h"

#include <algorithm>

namespace coin_log {

bool EarlyChildren::may_have(uint64_t parent_bits, uint32_t limit) const {
  const auto [first, last] = by_parent_.equal_range(parent_bits);
  return std::any_of(first, last, [limit](const auto &entry) { return entry.second < limit; });
}

void EarlyChildren::cut(uint32_t first_row) {
  if (rows_.empty() || rows_.back() < first_row) return;
  rows_.erase(std::lower_bound(rows_.begin(), rows_.end(), first_row), rows_.end());
  for (auto entry = by_parent_.begin(); entry != by_parent_.end();)
    entry = entry->second >= first_row ? by_parent_.erase(entry) : std::next(entry);
}

std::vector<uint32_t> EarlyChildren::rows_from(uint32_t first_row) const {
  return {std::lower_bound(rows_.begin(), rows_.end(), first_row), rows_.end()};
}

}  // namespace coin_log
