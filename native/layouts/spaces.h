// The spaces of a coin set in its engine, in the order of their numbers.
#pragma once

#include "cdb_ordered_kv.h"

#include <array>

namespace cdb::coin_set {

// The layout has the first one and the second one to itself; see layouts/layout.h.
enum Space : uint8_t { kMarks, kFirst, kSecond, kBlocks, kHashes, kParents };

using LayoutSpaces = std::array<okv_space, 2>;
using Spaces = std::array<okv_space, 6>;

inline Spaces all_spaces(const LayoutSpaces &of_layout) {
  return {{
      {"marks", OKV_ASCENDING, 0, 0},
      of_layout[0],
      of_layout[1],
      {"blocks", OKV_ASCENDING, 0, 0},
      {"hashes", OKV_RANDOM, 8, 0},
      {"parents", OKV_RANDOM, 8, 0},
  }};
}

// The last ones, which only a database with secondary keys has.
constexpr size_t kKeySpaces = 2;

}  // namespace cdb::coin_set
