// The secondary keys of a database that has them: a line of a table for each kind. A kind says
// which places it leads to and which keys new blocks bring; memtables, runs, merges, rewinds,
// openings and the manifest treat all alike.
#pragma once

#include "common/packed_blocks.h"
#include "coin_log/index/key_index.h"

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

// Blocks that are about to be there, behind those that are.
struct NewBlocks {
  const Blocks &blocks;
  size_t n;              // so many of them
  Extent before;         // of those that are there
  int64_t newest_index;  // of the newest one there; -1: there is none
  // By block, the first coin of each parent that it does not spend, ascending; numbered as in
  // blocks. There may be more, of those behind the n-th.
  const std::vector<uint32_t> &explicit_parents;
};

void enter_puzzle_hashes(const NewBlocks &blocks, KeyIndex *index);
// Of coins whose parent neither their block spends nor, as a reward's, tells it (query.h).
void enter_odd_parents(const NewBlocks &blocks, KeyIndex *index);

struct KeyKind {
  IndexOf index;
  Places places;
  void (*enter)(const NewBlocks &, KeyIndex *);
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

  // Does nothing where a database has none.
  void enter(const NewBlocks &blocks);
  // Forget what lies behind, as far as memtables have it.
  void cut(const Extent &kept);
  // Entries that were looked at so far.
  uint64_t probes() const;

 private:
  bool are_on_;
  std::deque<KeyIndex> indexes_;  // as in the table
};

}  // namespace cdb::coin_log
