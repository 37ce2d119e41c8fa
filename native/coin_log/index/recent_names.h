// The names of the newest coins, as they came: most spends are of these, and take no look into the
// log.
#pragma once

#include "common/bytes.h"

namespace cdb::coin_log {

class RecentNames {
 public:
  // Holds 2^bits names; their memory is taken when the first ones come.
  explicit RecentNames(unsigned bits) : capacity_(uint32_t{1} << bits) {}

  // Add the names of the rows from first_row on.
  void add(const uint8_t *names, size_t n, uint32_t first_row);
  // Drop the rows from first_row on.
  void cut(uint32_t first_row);
  // Null for a row that is not held.
  const uint8_t *name(uint32_t row) const {
    return row - first_ < end_ - first_ ? place_of(row) : nullptr;
  }

 private:
  const uint8_t *place_of(uint32_t row) const {
    return &names_[size_t{row & (capacity_ - 1)} * kNameBytes];
  }

  Bytes names_;
  uint32_t capacity_;
  uint32_t first_ = 0, end_ = 0;  // of the rows that are held
};

}  // namespace cdb::coin_log
