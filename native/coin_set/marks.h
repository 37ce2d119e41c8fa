// The marks: what is known of the database as a whole, in a space of their own.
//
//   indexed             the newest block whose coins and spends are where the layout has them
//   rewind              the newest block that a rewind keeps, as long as one is under way
//   early, head (8)     nothing: some coin of a parent with this head came before its parent's
//   spend rewards             for each kind of reward: kind (16), the highest height (4)
//
// Indexes are of 8 bytes, big endian, two's complement; -1: none.
#pragma once

#include "rules/parents.h"
#include "ordered_kv/ordered_kv.h"

#include <array>

namespace cdb::coin_set {

constexpr std::string_view kIndexedMark = "indexed";
constexpr std::string_view kRewindMark = "rewind";
constexpr std::string_view kRewardsMark = "rewards";

inline std::array<uint8_t, 8> index_value(int64_t index) {
  std::array<uint8_t, 8> value;
  store_big_endian(value.data(), static_cast<uint64_t>(index));
  return value;
}

// Whether there is such a mark; *index is as it was where there is none.
bool read_index(const Source &source, uint8_t space, std::string_view mark, int64_t *index);

// What is to be known of the parents of indexed coins.
Parents read_parents(const Source &source, uint8_t space);

// The keys of the early children that are not indexed, ascending.
std::vector<Bytes> early_marks(const Parents &parents);

Bytes rewards_value(const Parents &parents);

// Calls put(key, value) for each mark that goes with an index up to a block, in the order of keys.
template <typename Put>
void put_marks(const Parents &parents, int64_t indexed, Put put) {
  for (const Bytes &key : early_marks(parents)) put(key, Span());
  put(kIndexedMark, index_value(indexed));
  put(kRewardsMark, rewards_value(parents));
}

}  // namespace cdb::coin_set
