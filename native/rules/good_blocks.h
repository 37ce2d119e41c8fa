// Blocks that break no rule, and are about to be there.
#pragma once

#include "common/packed_blocks.h"
#include "reward_parents.h"

namespace cdb {

struct GoodBlocks {
  const Blocks &blocks;
  size_t n;        // the first ones of them
  int64_t newest;  // the index of the block before them; -1: there is none
  // By block, the first coin of each parent that it does not spend, ascending; numbered as in
  // blocks. There may be more, of those behind the n-th.
  const std::vector<uint32_t> &explicit_parents;

  // Calls visit(block, coin) for the first child of each odd parent: neither its block spends it
  // nor, as a reward's, does it tell that block.
  template <typename Visit>
  void each_odd_parent(Visit visit) const {
    auto coin = explicit_parents.begin();
    for (size_t block = 0; block < n; ++block) {
      const int64_t before = block == 0 ? newest : static_cast<int64_t>(blocks.indices[block - 1]);
      for (; coin != explicit_parents.end() && *coin < blocks.confirm_ends[block]; ++coin)
        if (!tells_its_block(blocks.confirm(*coin), before, blocks.indices[block]))
          visit(block, *coin);
    }
  }
};

}  // namespace cdb
