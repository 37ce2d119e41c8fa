#include "reward_parents.h"

#include <algorithm>

namespace cdb {

namespace {

uint32_t height_of(const uint8_t *parent) {
  return load_big_endian<uint32_t>(parent + kNameBytes - 4);
}

bool is_of(const uint8_t *parent, const RewardParents::Highest &highest) {
  return std::equal(highest.kind.begin(), highest.kind.end(), parent);
}

}  // namespace

bool RewardParents::is_new(const uint8_t *parent) const {
  for (const Highest &each : highest_)
    if (is_of(parent, each)) return height_of(parent) > each.height;
  return highest_.size() < kMostKinds;
}

void RewardParents::add(const uint8_t *parent) {
  for (Highest &each : highest_)
    if (is_of(parent, each)) {
      each.height = std::max(each.height, height_of(parent));
      return;
    }
  if (highest_.size() == kMostKinds) return;
  highest_.push_back({{}, height_of(parent)});
  std::copy_n(parent, highest_.back().kind.size(), highest_.back().kind.begin());
}

}  // namespace cdb
