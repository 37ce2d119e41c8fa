#include "pending_keys.h"

namespace cdb::coin_set {

void PendingKeys::add(const GoodBlocks &good, const std::vector<uint32_t> &first_coins) {
  const Blocks &blocks = good.blocks;
  for (size_t block = 0; block < good.n; ++block) {
    const size_t first = blocks.confirm_begin(block), n = blocks.confirm_ends[block] - first;
    if (n > 0)
      hashes_.insert_all(bits_, blocks.confirm(first) + kNameBytes, kConfirmBytes, n,
                         first_coins[block]);
  }
  good.each_odd_parent([&](size_t block, uint32_t coin) {
    const size_t place = coin - blocks.confirm_begin(block);
    parents_.insert(bits_.of(blocks.confirm(coin)),
                    first_coins[block] + static_cast<uint32_t>(place));
  });
}

}  // namespace cdb::coin_set
