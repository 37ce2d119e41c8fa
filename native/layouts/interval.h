// The layout "interval": one entry says where a coin is confirmed, another one where it is spent.
//
//   coins   name (32)   index of the block that confirms it (4), position among its confirms (4)
//   spends  name (32)   index of the block that spends it (4)
//
// Numbers are big endian. A spend is written blind: a coin's entry is never read to be changed. As
// of a block an entry of a later one is not there. Pure functions on bytes;
// docs/schemas/rocks_kv.md says more.
#pragma once

#include "common/bytes.h"

#include <array>

namespace cdb::interval {

// Where a coin is: in which block, and at which position among its confirms.
struct Place {
  uint32_t index;
  uint32_t position;
};

constexpr size_t kCoinBytes = 8;
constexpr size_t kSpendBytes = 4;

inline std::array<uint8_t, kCoinBytes> coin_value(const Place &place) {
  std::array<uint8_t, kCoinBytes> value;
  store_big_endian(value.data(), place.index);
  store_big_endian(value.data() + 4, place.position);
  return value;
}

inline Place place_in(const uint8_t *coin_value) {
  return {load_big_endian<uint32_t>(coin_value), load_big_endian<uint32_t>(coin_value + 4)};
}

inline std::array<uint8_t, kSpendBytes> spend_value(uint32_t spent_index) {
  std::array<uint8_t, kSpendBytes> value;
  store_big_endian(value.data(), spent_index);
  return value;
}

inline uint32_t spent_index_in(const uint8_t *spend_value) {
  return load_big_endian<uint32_t>(spend_value);
}

// Whether what a block did counts as of another one (-1: of none).
inline bool is_visible(uint32_t index, int64_t as_of) { return int64_t{index} <= as_of; }

}  // namespace cdb::interval
