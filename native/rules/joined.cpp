#include "joined.h"

#include <algorithm>

namespace cdb {

namespace {

// No entry is there twice, either.
template <size_t kBytes>
bool ascend(const uint8_t *entries, size_t n) {
  for (size_t i = 1; i < n; ++i)
    if (compare<kBytes>(entries + (i - 1) * kBytes, entries + i * kBytes) >= 0) return false;
  return true;
}

}  // namespace

void join(const Blocks &blocks, size_t block, Joined *joined) {
  const size_t spend_begin = blocks.spend_begin(block), spend_end = blocks.spend_ends[block];
  const size_t begin = blocks.confirm_begin(block), end = blocks.confirm_ends[block];
  joined->parents.clear();
  joined->explicit_parents.clear();
  joined->largest_amount = 0;
  joined->is_canonical = ascend<kNameBytes>(blocks.spend(spend_begin), spend_end - spend_begin) &&
                         ascend<kConfirmBytes>(blocks.confirm(begin), end - begin);
  if (!joined->is_canonical) return;

  size_t spend = spend_begin;
  uint32_t parent = 0;
  for (size_t i = begin; i < end; ++i) {
    const uint8_t *const name = blocks.confirm(i);
    if (i == begin || !is_same_name(name, blocks.confirm(i - 1))) {
      int order = 1;
      while (spend < spend_end && (order = compare_names(blocks.spend(spend), name)) < 0) ++spend;
      if (order == 0) {
        parent = static_cast<uint32_t>(spend - spend_begin);
      } else {
        parent = static_cast<uint32_t>(spend_end - spend_begin + joined->explicit_parents.size());
        joined->explicit_parents.push_back(static_cast<uint32_t>(i - begin));
      }
    }
    joined->parents.push_back(parent);
    joined->largest_amount = std::max(joined->largest_amount, load_big_endian(name + kAmountAt));
  }
}

}  // namespace cdb
