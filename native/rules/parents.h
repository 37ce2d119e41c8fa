// What is known of the parents of coins, so that few new coins have to be looked for.
//
// A coin's name is made from its parent's, and a coin is spent once. So a coin whose parent is
// spent, validly, by the very block that confirms it can be there already only if an earlier block
// confirmed it without spending the parent: as an early child. Those are remembered, by their
// parents. All but all coins that come without their parent's spend are rewards, whose parents rise
// (reward_parents.h).
//
// So a block's doubtful coins, which have to be looked for, are its early children, rewards aside
// that are newer than any before, and the children of its spends that have an early child.
//
// Too much in here, of blocks that were rewound, costs look-ups and nothing else.
#pragma once

#include "joined.h"
#include "common/keyed_hash.h"
#include "reward_parents.h"

#include <unordered_set>

namespace cdb {

class Parents {
 public:
  // An early child, the first one of its parent. row: what the store calls it; rows ascend. head:
  // the leading bytes of its parent's name. Anybody can choose them.
  struct EarlyChild {
    uint32_t row;
    uint64_t head;
  };

  static uint64_t head_of(const uint8_t *parent) { return load_big_endian(parent); }

  // Append the doubtful coins of a block that keeps the rules, ascending, to doubtful. Take note of
  // its parents. Coins are numbered as in blocks; first_row: of coin 0.
  void examine(const Blocks &blocks, size_t block, const Joined &joined, uint32_t first_row,
               std::vector<uint32_t> *doubtful);

  // Those that were added since forget_rows(), ascending.
  const std::vector<EarlyChild> &early_children() const { return early_; }
  // Drop the early children from first_row on: no block that is there has them.
  void cut(uint32_t first_row);
  // What they were called means nothing any more, and none of those so far is ever cut.
  void forget_rows() { early_.clear(); }
  void add_early(uint32_t row, uint64_t head);

  const std::vector<RewardParents::Highest> &rewards() const { return rewards_.highest(); }
  void restore_rewards(const std::vector<RewardParents::Highest> &rewards) {
    rewards_.restore(rewards);
  }

  // Early children that had to be looked at, or past, so far.
  uint64_t probes() const { return probes_; }

 private:
  bool has_early_child(uint64_t head) const { return hashes_.count(hash_.of<1>({head})) != 0; }
  bool is_doubtful(const uint8_t *explicit_parent, uint32_t row);

  KeyedHash hash_{random_hash_key()};
  std::unordered_set<uint64_t> hashes_;  // of all early children's heads
  std::vector<EarlyChild> early_;
  RewardParents rewards_;
  uint64_t probes_ = 0;
};

}  // namespace cdb
