#include "rocks_kv_parents.h"

#include "big_endian.h"

#include <algorithm>

bool Parents::may_have(const uint8_t *parent, bool is_spent_by_block) {
  if (coin_log::is_reward_parent(parent)) {
    const bool is_new = rewards_.is_new(parent);
    rewards_.add(parent);
    return !is_new;
  }
  if (is_spent_by_block && early_hashes_.empty()) return false;
  const uint64_t head = big_endian::load64(parent);
  if (is_spent_by_block) return early_hashes_.count(hash_.of<1>({head})) != 0;
  if (add_early(head)) new_early_heads_.push_back(head);
  return true;
}

bool Parents::add_early(uint64_t head) {
  const auto [place, is_new] = early_hashes_.insert(hash_.of<1>({head}));
  probes_ += early_hashes_.bucket_size(early_hashes_.bucket(*place));
  return is_new;
}

void Parents::keep_new_early_heads(size_t n) {
  for (; new_early_heads_.size() > n; new_early_heads_.pop_back())
    early_hashes_.erase(hash_.of<1>({new_early_heads_.back()}));
}

std::vector<uint64_t> Parents::new_early_heads() const {
  std::vector<uint64_t> sorted(new_early_heads_);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}
