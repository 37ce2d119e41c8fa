// What is known of the parents of coins, so that few new coins need to be looked for.
//
// A coin's name is made from its parent's, and a coin is spent once. So a coin whose parent is
// spent, validly, by the very block that confirms it can be there already only if an earlier block
// confirmed it without spending the parent: as an early child. Those are remembered by their
// parents. All but all coins without such a spend are rewards, whose parents rise
// (coin_log/reward_parents.h).
//
// Too much in here, of blocks that were rewound, costs lookups and nothing else.
#pragma once

#include "coin_log/reward_parents.h"
#include "keyed_hash.h"

#include <unordered_set>
#include <vector>

class Parents {
 public:
  using Reward = coin_log::RewardParents::Highest;

  // Whether a coin that a block confirms may be there already. Takes note of it.
  bool may_have(const uint8_t *parent, bool is_spent_by_block);

  // What has to be kept on disk: the leading bytes of early children's parents, as big-endian
  // numbers, those since saved() in ascending order; and the highest parents of rewards.
  std::vector<uint64_t> new_early_heads() const;
  const std::vector<Reward> &rewards() const { return rewards_.highest(); }
  void saved() { new_early_heads_.clear(); }
  size_t n_new_early_heads() const { return new_early_heads_.size(); }
  // Forgets all heads since saved() but the first n: no block that came has them.
  void keep_new_early_heads(size_t n);
  void restore_early_head(uint64_t head) { add_early(head); }
  void restore_rewards(const std::vector<Reward> &rewards) { rewards_.restore(rewards); }
  // Heads that had to be looked past or at so far.
  uint64_t probes() const { return probes_; }

 private:
  // Returns whether it is a new one.
  bool add_early(uint64_t head);

  KeyedHash hash_{random_hash_key()};
  std::unordered_set<uint64_t> early_hashes_;  // of the heads, which anybody can choose
  uint64_t probes_ = 0;
  std::vector<uint64_t> new_early_heads_;
  coin_log::RewardParents rewards_;
};
