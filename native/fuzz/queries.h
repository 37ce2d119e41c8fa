// Queries by secondary keys, and what must answer them.
#pragma once

#include "chain.h"

#include <vector>

// The values of all coins' keys, at this place of their confirms.
inline std::vector<uint8_t> values_of(const Chain &chain, size_t place) {
  std::vector<uint8_t> values;
  for (const auto &[name, known] : chain.coins())
    values.insert(values.end(), known.confirm.begin() + static_cast<ptrdiff_t>(place),
                  known.confirm.begin() + static_cast<ptrdiff_t>(place + sizeof(Name)));
  return values;
}

// For all coins with one of the values.
inline cdb_query query_by(int32_t key) {
  return {key, /*by_change=*/0, 0, UINT32_MAX, 0, UINT32_MAX, /*changed_from=*/0, 0, UINT64_MAX, 0};
}

// Each coin of the chain is there, once.
inline void require_all(const Chain &chain, const std::vector<cdb_found_coin> &coins) {
  require(coins.size() == chain.coins().size(), "each coin is found by its keys, once");
  for (const cdb_found_coin &coin : coins) {
    Name name;
    std::copy_n(coin.name, sizeof(Name), name.begin());
    cdb_coin_info info{};
    std::copy_n(coin.parent, sizeof(Name), info.parent);
    std::copy_n(coin.puzzle_hash, sizeof(Name), info.puzzle_hash);
    info.amount = coin.amount;
    info.confirmed_index = coin.confirmed_index;
    info.spent_index = coin.spent_index;
    chain.check(name, true, info);
  }
}
