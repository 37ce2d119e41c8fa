#include "pending_keys.h"

#include "common/reward_parents.h"

namespace cdb::coin_set {

void PendingKeys::add_block(const Blocks &blocks, size_t block, int64_t before,
                            const Joined &joined, uint32_t first_coin) {
  const size_t first = blocks.confirm_begin(block), n = blocks.confirm_ends[block] - first;
  if (n == 0) return;
  hashes_.insert_all(bits_, blocks.confirm(first) + kNameBytes, kConfirmBytes, n, first_coin);
  for (const uint32_t coin : joined.explicit_parents) {
    const uint8_t *const parent = blocks.confirm(first + coin);
    if (!tells_its_block(parent, before, blocks.indices[block]))
      parents_.insert(bits_.of(parent), first_coin + coin);
  }
}

}  // namespace cdb::coin_set
