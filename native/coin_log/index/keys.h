// The secondary keys of a database that has them: a line of a table for each kind. A kind says
// which places it leads to and which keys new blocks bring; memtables, runs, merges, rewinds,
// openings and the manifest treat all alike.
#pragma once

#include "coin_log/index/key_index.h"
#include "rules/good_blocks.h"

#include <array>
#include <deque>

namespace cdb::coin_log {

// What a key leads to.
enum class Places { kRows, kBlocks };

// How much there is of either.
struct Extent {
  uint64_t rows, blocks;

  uint32_t end(Places places) const {
    return static_cast<uint32_t>(places == Places::kRows ? rows : blocks);
  }
};

// first: the place of the first of their coins, or of the first of them.
void enter_puzzle_hashes(const GoodBlocks &blocks, uint32_t first, KeyIndex *index);
void enter_odd_parents(const GoodBlocks &blocks, uint32_t first, KeyIndex *index);  // see query.h

struct KeyKind {
  IndexOf index;
  Places places;
  void (*enter)(const GoodBlocks &, uint32_t, KeyIndex *);
};

constexpr std::array<KeyKind, kIndexes - 1> kKeyKinds = {{
    {IndexOf::kPuzzleHashes, Places::kRows, enter_puzzle_hashes},
    {IndexOf::kOddParents, Places::kBlocks, enter_odd_parents},
}};

// Names have no line there, and come before all that have.
constexpr size_t place_of_kind(IndexOf index) { return static_cast<size_t>(index) - 1; }
constexpr Places places_of(IndexOf index) {
  return index == IndexOf::kNames ? Places::kRows : kKeyKinds[place_of_kind(index)].places;
}

class Keys {
 public:
  // is_on: whether a database has them.
  Keys(const NameBits &bits, bool is_on);

  bool are_on() const { return are_on_; }
  KeyIndex &of(IndexOf index) { return indexes_[place_of_kind(index)]; }
  const KeyIndex &of(IndexOf index) const { return indexes_[place_of_kind(index)]; }

  // before: how much there is without these blocks. Does nothing where a database has none.
  void enter(const GoodBlocks &blocks, const Extent &before);
  // Forget what lies behind, as far as memtables have it.
  void cut(const Extent &kept);
  // Entries that were looked at so far.
  uint64_t probes() const;

 private:
  bool are_on_;
  std::deque<KeyIndex> indexes_;  // as in the table
};

}  // namespace cdb::coin_log
