// Accepting blocks: what is known of coins, in memory and in the engine, for the rules of a block
// (rules/block_rules.h).
//
// What is examined is in memory, above all that readers see. To look at the engine for it keeps no
// reader out.
#include "database.h"
#include "rules/block_rules.h"

#include <algorithm>

namespace cdb::coin_set {

class Acceptance {
 public:
  Acceptance(const Blocks &blocks, int64_t newest, Pending *pending, const Store *engine,
             Access *access)
      : blocks_(blocks),
        pending_(*pending),
        engine_(engine),
        access_(*access),
        first_row_(static_cast<uint32_t>(pending->coins().size())),
        rules_(blocks, newest, first_row_, pending->parents(), this) {}

  void examine() { rules_.examine(); }
  // Within a change. Afterwards the good blocks are in memory, and of the others nothing.
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

size_t Database::add(const Blocks &blocks, int64_t newest, const Store *engine) {
  Acceptance acceptance(blocks, newest, &pending_, engine, &access_);
  acceptance.examine();
  const Change change(access_);
  const size_t good = acceptance.finish();
  if (good > 0) visible_ = static_cast<int64_t>(blocks.indices[good - 1]);
  return good;
}

size_t Acceptance::enter(size_t n_blocks) {
  spend_rows_.reserve(blocks_.spend_begin(n_blocks));
  const Change change(access_);
  for (size_t block = 0; block < n_blocks; ++block) {
    first_coins_.push_back(static_cast<uint32_t>(pending_.coins().size()));
    const size_t coin =
        blocks_.confirm_begin(block) + pending_.add_coins(blocks_, block, &spend_rows_);
    if (coin < blocks_.confirm_ends[block]) return coin;
  }
  first_coins_.push_back(static_cast<uint32_t>(pending_.coins().size()));
  return kNoCoin;
}

size_t Acceptance::first_existing(const std::vector<uint32_t> &coins) {
  if (engine_ == nullptr) return kNoCoin;
  std::vector<Asked> asked;
  for (const uint32_t coin : coins) asked.push_back({blocks_.name(coin), coin});
  return engine_->first_existing(asked);
}

// Of older coins that can't be spent the first will do. The first of its spends has put it there.
void Acceptance::find_spends(size_t n_blocks) {
  if (engine_ == nullptr) return;
  std::vector<Asked> older;
  for (size_t i = first_row_; i < first_coins_[n_blocks]; ++i)
    if (!pending_.coins()[i].is_confirmed) older.push_back({pending_.coins()[i].name, i});
  const size_t first = engine_->first_unspendable(older, &older_);
  if (first != kNoCoin) *std::find(spend_rows_.begin(), spend_rows_.end(), first) = kNoRow;
}

size_t Acceptance::finish() {
  const size_t good = rules_.spend();
  for (const Placed &some : older_) pending_.set_older(some);
  if (good < blocks_.n) {
    pending_.cut_coins(first_coins_[good]);
    pending_.parents()->cut(first_row_ + static_cast<uint32_t>(blocks_.confirm_begin(good)));
  }
  pending_.add_blocks(rules_.good(), first_coins_);
  return good;
}

}  // namespace cdb::coin_set
