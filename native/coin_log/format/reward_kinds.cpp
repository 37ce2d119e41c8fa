#include "coin_log/format/reward_kinds.h"

#include <algorithm>

namespace cdb::coin_log {

int RewardKinds::number_of(const uint8_t *parent) const {
  if (!is_reward_parent(parent)) return -1;
  for (size_t number = 0; number < kinds_.size(); ++number)
    if (std::equal(kinds_[number].prefix.begin(), kinds_[number].prefix.end(), parent))
      return static_cast<int>(number);
  return -1;
}

void RewardKinds::compose(size_t number, uint32_t height, uint8_t *parent) const {
  const auto &prefix = kinds_[number].prefix;
  std::fill(std::copy(prefix.begin(), prefix.end(), parent), parent + kNameBytes - 4, uint8_t{0});
  store_big_endian(parent + kNameBytes - 4, height);
}

void RewardKinds::introduce(const uint8_t *parent, size_t block) {
  if (kinds_.size() == kMost || !is_reward_parent(parent) || number_of(parent) >= 0) return;
  kinds_.push_back({{}, static_cast<uint32_t>(block)});
  std::copy_n(parent, kinds_.back().prefix.size(), kinds_.back().prefix.begin());
}

void RewardKinds::cut(size_t blocks) {
  while (!kinds_.empty() && kinds_.back().block >= blocks) kinds_.pop_back();
}

}  // namespace cdb::coin_log
