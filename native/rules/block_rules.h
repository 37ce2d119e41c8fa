// The rules of a block, for every native store:
//
//   by itself   Its index is above the newest one. Block 0 spends nothing: 0 means unspent. Spends
//               ascend, and so do confirms, so that none is there twice.
//   confirms    None of its coins is there already.
//   spends      Each coin is there, or the block itself confirms it, and it is unspent.
//
// The blocks of a call are examined together, each as if those before it had been accepted alone.
// The first one that breaks a rule ends it: those before it are good, and of it and those behind it
// nothing may stay. Which rule that is, cdb/contract/rules.py finds out for all stores.
//
// Known is what a store knows of coins. A row is what it calls a coin; coins and spends of the call
// are numbered as in its blocks. BlockRules calls, in this order:
//
//   void take(size_t block, const Joined &joined)
//     For each block that keeps the rules by itself.
//   size_t enter(size_t n_blocks)
//     Once: know the coins of the first blocks from now on. Returns the first coin that is known to
//     repeat one before it, behind which nothing need be entered; kNoCoin: none is.
//   size_t first_existing(const std::vector<uint32_t> &coins)
//     Once: which of these coins, ascending, is the first to repeat one before it; or kNoCoin.
//   void find_spends(size_t n_blocks)
//     Once: find the coins that the first blocks spend, among those up to the end of each block.
//   uint32_t row_of_spend(size_t spend), void prefetch_row(uint32_t row)
//     kNoRow: there is no such coin.
//   bool spend(uint32_t row, uint32_t block_index), void unspend(uint32_t row)
//     Spend a coin, unless it is spent: that is false.
#pragma once

#include "common/name_bits.h"
#include "good_blocks.h"
#include "joined.h"
#include "parents.h"

#include <algorithm>

namespace cdb {

constexpr size_t kNoCoin = SIZE_MAX;

template <typename Known>
class BlockRules {
 public:
  // newest: the index of the block before these; -1: there is none. first_row: what parents calls
  // the first coin; rows ascend. All must stay as long as this.
  BlockRules(const Blocks &blocks, int64_t newest, uint32_t first_row, Parents *parents,
             Known *known)
      : blocks_(blocks),
        newest_(newest),
        first_row_(first_row),
        parents_(*parents),
        known_(*known) {}

  // Look for all that the blocks rest on. What is found of spends may be corrected before spend().
  void examine() {
    while (sound_ < blocks_.n && take(sound_)) ++sound_;
    end_before(known_.enter(sound_));
    const size_t coins = blocks_.confirm_begin(sound_);
    doubtful_.erase(std::lower_bound(doubtful_.begin(), doubtful_.end(), coins), doubtful_.end());
    end_before(known_.first_existing(doubtful_));
    known_.find_spends(sound_);
  }

  // Spend what the good blocks spend, and return how many these are.
  size_t spend() {
    while (good_ < sound_ && spend(good_)) ++good_;
    return good_;
  }

  // Undo what spend() did.
  void unspend() {
    unspend(0, blocks_.spend_begin(good_));
    good_ = 0;
  }

  // Those that have spent.
  GoodBlocks good() const { return {blocks_, good_, newest_, explicit_parents_}; }

 private:
  static constexpr size_t kAhead = 8;

  bool take(size_t block) {
    const uint64_t index = blocks_.indices[block];
    const int64_t before = block == 0 ? newest_ : static_cast<int64_t>(blocks_.indices[block - 1]);
    const bool follows = index <= UINT32_MAX && static_cast<int64_t>(index) > before;
    const bool spends_nothing = blocks_.spend_ends[block] == blocks_.spend_begin(block);
    if (!follows || (index == 0 && !spends_nothing)) return false;
    join(blocks_, block, &joined_);
    if (!joined_.is_canonical) return false;
    known_.take(block, joined_);
    const auto first = static_cast<uint32_t>(blocks_.confirm_begin(block));
    for (const uint32_t coin : joined_.explicit_parents) explicit_parents_.push_back(first + coin);
    parents_.examine(blocks_, block, joined_, first_row_, &doubtful_);
    return true;
  }

  // The block of this coin breaks a rule.
  void end_before(size_t coin) {
    if (coin == kNoCoin) return;
    const uint64_t *const ends = blocks_.confirm_ends;
    sound_ = static_cast<size_t>(std::upper_bound(ends, ends + sound_, coin) - ends);
  }

  bool spend(size_t block) {
    const auto index = static_cast<uint32_t>(blocks_.indices[block]);
    const size_t begin = blocks_.spend_begin(block), n_spends = blocks_.spend_begin(sound_);
    for (size_t at = begin; at < blocks_.spend_ends[block]; ++at) {
      if (at + kAhead < n_spends) known_.prefetch_row(known_.row_of_spend(at + kAhead));
      const uint32_t row = known_.row_of_spend(at);
      if (row != kNoRow && known_.spend(row, index)) continue;
      unspend(begin, at);
      return false;
    }
    return true;
  }

  void unspend(size_t begin, size_t end) {
    for (size_t at = begin; at < end; ++at) known_.unspend(known_.row_of_spend(at));
  }

  const Blocks &blocks_;
  const int64_t newest_;
  const uint32_t first_row_;
  Parents &parents_;
  Known &known_;

  Joined joined_;
  size_t sound_ = 0;  // blocks that break no rule, but perhaps by a spend
  size_t good_ = 0;   // those of them that have spent
  std::vector<uint32_t> explicit_parents_;
  std::vector<uint32_t> doubtful_;  // coins that may be there already, ascending
};

}  // namespace cdb
