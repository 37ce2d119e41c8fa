// The kinds of rewards' parents: the network's 16 bytes before the height. A record names one by
// its number, in the order in which the chain so far has introduced them.
//
// A kind is known behind the block that introduces it: in that block its parents stand whole. So
// which ones there are follows from the chain alone, and a rewind takes back what its blocks have
// introduced.
#pragma once

#include "rules/reward_parents.h"

namespace cdb::coin_log {

class RewardKinds {
 public:
  struct Kind {
    std::array<uint8_t, 16> prefix;
    uint32_t block;  // that introduced it: how many blocks came before
  };
  // A network has two. Parents of more kinds stand whole.
  static constexpr size_t kMost = 8;

  // Of a parent that stands for its kind and height, its kind's number; else -1.
  int number_of(const uint8_t *parent) const;
  bool has(size_t number) const { return number < kinds_.size(); }
  // The parent of a kind that there is.
  void compose(size_t number, uint32_t height, uint8_t *parent) const;

  // Take note of an explicit parent of a block.
  void introduce(const uint8_t *parent, size_t block);
  // Forget what was introduced from this block on.
  void cut(size_t blocks);

  // All of them, for a file.
  const std::vector<Kind> &all() const { return kinds_; }
  void restore(const std::vector<Kind> &kinds) { kinds_ = kinds; }

 private:
  std::vector<Kind> kinds_;
};

}  // namespace cdb::coin_log
