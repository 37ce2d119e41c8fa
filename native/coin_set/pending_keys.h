// The secondary keys of the coins in memory, by the coins' numbers there: of parents, that of the
// first child in a block. See keys.h.
#pragma once

#include "common/chains.h"
#include "rules/good_blocks.h"

namespace cdb::coin_set {

class PendingKeys {
 public:
  explicit PendingKeys(const NameBits &bits) : bits_(bits) {}

  // first_coins: by block, the number of its first coin.
  void add(const GoodBlocks &good, const std::vector<uint32_t> &first_coins);
  void clear() { *this = PendingKeys(bits_); }

  // Those with a puzzle hash, or whose block has children of a parent, first ≤ number < end,
  // ascending. Others may share the bits.
  std::vector<uint32_t> with_hash(const uint8_t *puzzle_hash, uint32_t first, uint32_t end,
                                  uint64_t *probes) const {
    return find(hashes_, puzzle_hash, first, end, probes);
  }
  std::vector<uint32_t> with_parent(const uint8_t *parent, uint32_t first, uint32_t end,
                                    uint64_t *probes) const {
    return find(parents_, parent, first, end, probes);
  }

  const Chains &hashes() const { return hashes_; }
  const Chains &parents() const { return parents_; }

 private:
  std::vector<uint32_t> find(const Chains &chains, const uint8_t *key, uint32_t first, uint32_t end,
                             uint64_t *probes) const {
    std::vector<uint32_t> found;
    chains.find_between(bits_.of(key), first, end, &found, probes);
    return found;
  }

  NameBits bits_;
  Chains hashes_, parents_;
};

}  // namespace cdb::coin_set
