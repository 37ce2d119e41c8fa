// Coins of one kind, and their confirms where a layout keeps these in its rows.
#pragma once

#include "common/bytes.h"
#include "ordered_kv/ordered_kv.h"

#include <vector>

namespace cdb::coin_set {

template <typename Coin>
struct WithConfirms {
  std::vector<Coin> coins;
  Bytes confirms;  // kConfirmBytes of each coin, in the same order; nothing where blocks alone have
                   // them

  // Of coin i: whole, or nothing.
  Span confirm(size_t i) const {
    if (confirms.empty()) return {};
    return {confirms.data() + i * kConfirmBytes, kConfirmBytes};
  }
  void add(const Coin &coin, const Span &confirm) {
    coins.push_back(coin);
    confirms.insert(confirms.end(), confirm.bytes, confirm.bytes + confirm.n);
  }
  void clear() {
    coins.clear();
    confirms.clear();
  }
};

}  // namespace cdb::coin_set
