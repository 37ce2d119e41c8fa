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
    children_.push_back({row, parent_bits});
    const auto first = first_rows_.emplace(parent_bits, row).first;
    probes_ += first_rows_.bucket_size(first_rows_.bucket(first->first));
  }

  // Whether a row before limit may be a child of such a parent.
  bool may_have(uint64_t parent_bits, uint32_t limit) const {
    const auto first = first_rows_.find(parent_bits);
    return first != first_rows_.end() && first->second < limit;
  }
  // Drop the rows from first_row on.
  void cut(uint32_t first_row);

  bool empty() const { return children_.empty(); }
  // Entries that had to be looked at, or past, to add some and to drop some.
  uint64_t probes() const { return probes_; }
  // Those from first_row on, ascending.
  std::vector<uint32_t> rows_from(uint32_t first_row) const;

 private:
  struct Child {
    uint32_t row;
    uint64_t parent_bits;
  };

  std::vector<Child> children_;
  std::unordered_map<uint64_t, uint32_t> first_rows_;  // of each parent, by its bits
  uint64_t probes_ = 0;
};

}  // namespace coin_log
