#include "pending_keys.h"

#include "rules/reward_parents.h"

namespace cdb::coin_set {

void PendingKeys::add(const GoodBlocks &good) {
  const Blocks &blocks = good.blocks;
  int64_t before = good.newest;
  auto child = good.explicit_parents.begin();
  for (size_t block = 0; block < good.n; ++block) {
    const size_t first = blocks.confirm_begin(block), end = blocks.confirm_ends[block];
    const uint32_t first_coin = good.first_coins[block];
    if (end > first)
      hashes_.insert_all(bits_, blocks.confirm(first) + kNameBytes, kConfirmBytes, end - first,
                         first_coin);
    for (; child != good.explicit_parents.end() && *child < end; ++child) {
      const uint8_t *const parent = blocks.confirm(*child);
      if (!tells_its_block(parent, before, blocks.indices[block]))
        parents_.insert(bits_.of(parent), first_coin + static_cast<uint32_t>(*child - first));
    }
    before = static_cast<int64_t>(blocks.indices[block]);
  }
}

}  // namespace cdb::coin_set
