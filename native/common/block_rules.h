// The rules that a block breaks or keeps by itself, and what its coins' parents are.
//
// A store accepts blocks in canonical order: the join below finds each coin's parent among the
// block's own spends, and what is out of order, by going over both once.
#pragma once

#include "packed_blocks.h"

namespace cdb {

// Parents are numbered: first the block's spends, then the explicit ones, which it does not spend.
struct Joined {
  std::vector<uint32_t> parents;           // of each coin of the block
  std::vector<uint32_t> explicit_parents;  // the first coin of each, counted within the block
  uint64_t largest_amount;
  bool is_canonical;  // spends ascend, and so do confirms; if not, nothing above is of use
};

void join(const Blocks &blocks, size_t block, Joined *joined);

// Whether a block, joined, may follow on the one with the index `newest` (-1: on none), as far as
// it can be seen by itself.
bool keeps_rules(const Blocks &blocks, size_t block, int64_t newest, const Joined &joined);

}  // namespace cdb
