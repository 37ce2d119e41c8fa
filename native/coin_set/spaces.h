// The spaces of a coin set in its engine, in the order of their numbers.
#pragma once

#include "cdb_ordered_kv.h"

#include <array>

namespace cdb::coin_set {

enum Space : uint8_t { kMarks, kCoins, kSpends, kBlocks, kHashes, kParents };

constexpr std::array<okv_space, 6> kSpaces{{
    {"marks", OKV_ASCENDING, 0},
    {"coins", OKV_RANDOM, 0},
    {"spends", OKV_RANDOM, 0},
    {"blocks", OKV_ASCENDING, 0},
    {"hashes", OKV_RANDOM, 8},
    {"parents", OKV_RANDOM, 8},
}};

// The last ones, which only a database with secondary keys has.
constexpr size_t kKeySpaces = 2;

}  // namespace cdb::coin_set
