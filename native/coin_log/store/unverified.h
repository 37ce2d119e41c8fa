// Spends whose coin was found by the index alone: that it is the right one is still to be seen.
#pragma once

#include "common/bytes.h"

namespace cdb::coin_log {

// That the coin of a name is at a row. spend: a number by which the one who claims it knows it.
struct Claim {
  uint32_t row;
  uint32_t spend;
  const uint8_t *name;
};

class Unverified {
 public:
  explicit Unverified(size_t most) {
    spends_.reserve(most);
    names_.reserve(most * kNameBytes);
  }

  void add(const Claim &claim) {
    spends_.push_back({claim.row, claim.spend});
    names_.insert(names_.end(), claim.name, claim.name + kNameBytes);
  }
  size_t size() const { return spends_.size(); }
  void clear() {
    spends_.clear();
    names_.clear();
  }
  // Valid until the next change.
  std::vector<Claim> claims() const {
    std::vector<Claim> claims;
    claims.reserve(size());
    for (size_t i = 0; i < size(); ++i)
      claims.push_back({spends_[i].row, spends_[i].spend, &names_[i * kNameBytes]});
    return claims;
  }

 private:
  struct Spend {
    uint32_t row, spend;
  };
  std::vector<Spend> spends_;
  Bytes names_;
};

}  // namespace cdb::coin_log
