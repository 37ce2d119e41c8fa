// Which parent each coin of a block has: the merge join of its sorted spends and confirms.
#pragma once

#include "blocks.h"

namespace coin_log {

// Parents are numbered: first the block's spends, then the explicit ones, which it does not spend.
struct Joined {
  std::vector<uint32_t> parents;           // of each coin of the block
  std::vector<uint32_t> explicit_parents;  // the first coin of each, counted within the block
  std::vector<uint32_t> irregular;         // coins with an explicit parent, within the block
  uint64_t largest_amount;
  bool is_unsorted;                // and then nothing above is of use
  const uint8_t *spent_twice;      // a name, or null
  const uint8_t *confirmed_twice;  // a name, or null
};

void join(const Blocks &blocks, size_t block, Joined *joined);

}  // namespace coin_log
