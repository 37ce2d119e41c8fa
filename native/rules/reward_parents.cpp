#include "reward_parents.h"

#include <algorithm>

namespace cdb {

namespace {

bool is_of(const uint8_t *parent, const RewardParents::Highest &highest) {
  return std::equal(highest.kind.begin(), highest.kind.end(), parent);
}

}  // namespace

bool RewardParents::is_new(const uint8_t *parent) const {
  for (const Highest &each : highest_)
    if (is_of(parent, each)) return reward_height(parent) > each.height;
  return highest_.size() < kMostKinds;
}

void RewardParents::add(const uint8_t *parent) {
  for (Highest &each : highest_)
    if (is_of(parent, each)) {
      each.height = std::max(each.height, reward_height(parent));
      return;
    }
  if (highest_.size() == kMostKinds) return;
  highest_.push_back({{}, reward_height(parent)});
  std::copy_n(parent, highest_.back().kind.size(), highest_.back().kind.begin());
}

}  // namespace cdb
