#include "coin_log/state/block_table.h"

#include <algorithm>

namespace cdb::coin_log {

size_t BlockTable::before(uint64_t offset) const {
  if (base_ != nullptr && offset <= base_->end()) return base_->before(offset);
  const auto line =
      std::lower_bound(newer_.begin(), newer_.end(), offset,
                       [](const BlockLine &each, uint64_t wanted) { return each.offset < wanted; });
  return n_based_ + static_cast<size_t>(line - newer_.begin());
}

size_t BlockTable::up_to(int64_t block_index) const {
  const auto above = std::upper_bound(
      newer_.begin(), newer_.end(), block_index,
      [](int64_t wanted, const BlockLine &line) { return wanted < int64_t{line.index}; });
  if (above == newer_.begin() && base_ != nullptr) return base_->up_to(block_index);
  return n_based_ + static_cast<size_t>(above - newer_.begin());
}

std::vector<BlockLine> BlockTable::from(size_t block) const {
  return {newer_.begin() + static_cast<ptrdiff_t>(block - n_based_), newer_.end()};
}

void BlockTable::adopt(std::shared_ptr<const Base> base, std::vector<BlockLine> newer) {
  n_based_ = base == nullptr ? 0 : base->blocks();
  base_ = std::move(base);
  newer_ = std::move(newer);
}

}  // namespace cdb::coin_log
