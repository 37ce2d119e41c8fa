// What the parents of a block's coins are. Blocks are in canonical order: going over spends and
// confirms once finds each coin's parent among the spends, and what is out of order.
#pragma once

#include "common/packed_blocks.h"

namespace cdb {

// Parents are numbered: first the block's spends, then the explicit ones, which it does not spend.
struct Joined {
  std::vector<uint32_t> parents;           // of each coin of the block
  std::vector<uint32_t> explicit_parents;  // the first coin of each, counted within the block
  uint64_t largest_amount;
  bool is_canonical;  // spends ascend, and so do confirms; if not, nothing above is of use
};

void join(const Blocks &blocks, size_t block, Joined *joined);

}  // namespace cdb
