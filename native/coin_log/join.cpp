#include "join.h"

#include <algorithm>

namespace coin_log {

namespace {

void check_spends(const Blocks &blocks, size_t begin, size_t end, Joined *joined) {
  for (size_t i = begin + 1; i < end; ++i) {
    const int order = compare_names(blocks.spend(i - 1), blocks.spend(i));
    if (order > 0) joined->is_unsorted = true;
    if (order == 0 && joined->spent_twice == nullptr) joined->spent_twice = blocks.spend(i);
  }
}

void check_confirms(const Blocks &blocks, size_t begin, size_t end, Joined *joined) {
  for (size_t i = begin + 1; i < end; ++i) {
    const int order = compare<kConfirmBytes>(blocks.confirm(i - 1), blocks.confirm(i));
    if (order > 0) joined->is_unsorted = true;
    if (order == 0 && joined->confirmed_twice == nullptr) joined->confirmed_twice = blocks.name(i);
  }
}

}  // namespace

void join(const Blocks &blocks, size_t block, Joined *joined) {
  const size_t spend_begin = blocks.spend_begin(block), spend_end = blocks.spend_ends[block];
  const size_t begin = blocks.confirm_begin(block), end = blocks.confirm_ends[block];
  joined->parents.clear();
  joined->explicit_parents.clear();
  joined->irregular.clear();
  joined->largest_amount = 0;
  joined->is_unsorted = false;
  joined->spent_twice = joined->confirmed_twice = nullptr;
  check_spends(blocks, spend_begin, spend_end, joined);
  check_confirms(blocks, begin, end, joined);

  size_t spend = spend_begin;
  bool is_explicit = false;
  uint32_t parent = 0;
  for (size_t i = begin; i < end; ++i) {
    const uint8_t *const name = blocks.confirm(i);
    const uint32_t coin = static_cast<uint32_t>(i - begin);
    if (i == begin || !is_same_name(name, blocks.confirm(i - 1))) {
      int order = 1;
      while (spend < spend_end && (order = compare_names(blocks.spend(spend), name)) < 0)
        ++spend;
      is_explicit = order != 0;
      if (is_explicit) {
        parent = static_cast<uint32_t>(spend_end - spend_begin + joined->explicit_parents.size());
        joined->explicit_parents.push_back(coin);
      } else {
        parent = static_cast<uint32_t>(spend - spend_begin);
      }
    }
    joined->parents.push_back(parent);
    if (is_explicit) joined->irregular.push_back(coin);
    joined->largest_amount =
        std::max(joined->largest_amount, load_big_endian(name + kAmountAt));
  }
}

}  // namespace coin_log
