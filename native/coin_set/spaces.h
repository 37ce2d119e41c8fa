// The spaces of a coin set in its engine, in the order of their numbers.
#pragma once

#include "cdb_ordered_kv.h"

#include <array>

namespace cdb::coin_set {

enum Space : uint8_t { kMarks, kCoins, kSpends, kBlocks, kHashes, kParents };

constexpr std::array<okv_space, 6> kSpaces{{
    {"marks", OKV_ASCENDING},
    {"coins", OKV_RANDOM},
    {"spends", OKV_RANDOM},
    {"blocks", OKV_ASCENDING},
    {"hashes", OKV_RANDOM},
    {"parents", OKV_RANDOM},
}};

// The last ones, which only a database with secondary keys has.
constexpr size_t kKeySpaces = 2;

}  // namespace cdb::coin_set
