// The parents of rewards. They are no coins: 16 bytes of the network's and then a height, so that
// 12 bytes in their middle are zeros. To make a coin of such a name would take 2^96 hashes.
#pragma once

#include "common/bytes.h"

#include <array>

namespace cdb {

inline bool is_reward_parent(const uint8_t *name) {
  return load<uint64_t>(name + 16) == 0 && load<uint32_t>(name + 24) == 0;
}

inline uint32_t reward_height(const uint8_t *parent) {
  return load_big_endian<uint32_t>(parent + kNameBytes - 4);
}

// Whether a block's reward tells by its parent that it is of that block: its height is the block's,
// or one from the block before (-1: none) up to it.
inline bool tells_its_block(const uint8_t *parent, int64_t block_before, uint64_t block_index) {
  const uint32_t height = reward_height(parent);
  return is_reward_parent(parent) &&
         (height == block_index || (block_before <= int64_t{height} && height < block_index));
}

// The highest that there were: of a network's two kinds, each new block has the next ones. A coin
// whose parent lies above them all needs no look whether it is there already.
class RewardParents {
 public:
  struct Highest {
    std::array<uint8_t, 16> kind;
    uint32_t height;
  };

  // Whether no parent at or above this one was added; false when that is not known.
  bool is_new(const uint8_t *parent) const;
  void add(const uint8_t *parent);

  // All that there is to know, for a file.
  const std::vector<Highest> &highest() const { return highest_; }
  void restore(const std::vector<Highest> &highest) { highest_ = highest; }

 private:
  static constexpr size_t kMostKinds = 8;  // with as many, others may have been left out

  std::vector<Highest> highest_;
};

}  // namespace cdb
