// Accepting blocks: what is known of coins, in memory and in the engine, for the rules of a block.
//
// What is examined is in memory, above all that readers see. To look at the engine for it keeps no
// reader out.
#pragma once

#include "common/access.h"
#include "pending.h"
#include "rules/block_rules.h"
#include "store.h"

namespace cdb::coin_set {

class Acceptance {
 public:
  // newest: the index of the block before these; -1: there is none. engine: where older coins are
  // looked for; null: it need not be.
  Acceptance(const Blocks &blocks, int64_t newest, Pending *pending, const Store *engine,
             Access *access)
      : blocks_(blocks),
        pending_(*pending),
        engine_(engine),
        access_(*access),
        first_row_(static_cast<uint32_t>(pending->coins().size())),
        rules_(blocks, newest, first_row_, pending->parents(), this) {}

  void examine() { rules_.examine(); }
  // Within a change. How many blocks are good: these are in memory, and of the others nothing.
  size_t finish();

 private:
  friend class BlockRules<Acceptance>;

  void take(size_t, const Joined &) {}
  size_t enter(size_t n_blocks);
  size_t first_existing(const std::vector<uint32_t> &coins);
  void find_spends(size_t n_blocks);
  uint32_t row_of_spend(size_t spend) const { return spend_rows_[spend]; }
  void prefetch_row(uint32_t row) const {
    if (row != kNoRow) prefetch(&pending_.coins()[row]);
  }
  bool spend(uint32_t row, uint32_t block_index) { return pending_.spend(row, block_index); }
  void unspend(uint32_t row) { pending_.unspend(row); }

  const Blocks &blocks_;
  Pending &pending_;
  const Store *const engine_;
  Access &access_;
  const uint32_t first_row_;

  BlockRules<Acceptance> rules_;       // a row is the number of a coin in memory
  std::vector<uint32_t> first_coins_;  // by block, the number of its first coin in memory
  std::vector<uint32_t> spend_rows_;
  std::vector<Placed> older_;  // coins that are spent, by their numbers
};

}  // namespace cdb::coin_set
