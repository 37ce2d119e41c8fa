// The coins that a block confirmed without spending their parent, rewards aside, by that parent: when
// it is spent after all, a child that comes with the spend may be there already. All but all coins
// without such a spend are rewards, so these are few.
#pragma once

#include "bytes.h"

#include <unordered_map>

namespace coin_log {

class EarlyChildren {
 public:
  // parent_bits: of the parent's name. Rows ascend.
  void add(uint64_t parent_bits, uint32_t row) {
    rows_.push_back(row);
    by_parent_.emplace(parent_bits, row);
  }

  // Whether a row before limit may be a child of such a parent.
  bool may_have(uint64_t parent_bits, uint32_t limit) const;
  // Drop the rows from first_row on.
  void cut(uint32_t first_row);

  bool empty() const { return rows_.empty(); }
  // Those from first_row on, ascending.
  std::vector<uint32_t> rows_from(uint32_t first_row) const;

 private:
  std::vector<uint32_t> rows_;
  std::unordered_multimap<uint64_t, uint32_t> by_parent_;
};

}  // namespace coin_log
