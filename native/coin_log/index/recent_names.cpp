#include "coin_log/index/recent_names.h"

#include <algorithm>

namespace cdb::coin_log {

void RecentNames::add(const uint8_t *names, size_t n, uint32_t first_row) {
  names_.resize(size_t{capacity_} * kNameBytes);
  if (first_row != end_) first_ = end_ = first_row;
  const size_t skipped = n > capacity_ ? n - capacity_ : 0;
  for (size_t i = skipped; i < n;) {
    const size_t place = (first_row + i) & (capacity_ - 1);
    const size_t count = std::min(n - i, capacity_ - place);
    std::memcpy(&names_[place * kNameBytes], names + i * kNameBytes, count * kNameBytes);
    i += count;
  }
  end_ = first_row + static_cast<uint32_t>(n);
  if (end_ - first_ > capacity_) first_ = end_ - capacity_;
}

void RecentNames::cut(uint32_t first_row) { end_ = std::min(end_, std::max(first_row, first_)); }

}  // namespace cdb::coin_log
