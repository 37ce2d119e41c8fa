// The blocks, in a space of their own: the truth, of which all else follows. Whatever the layout.
//
//   index (4), 0 (4)      timestamp (8), spends (4), confirms (4); then the spends' names
//   index (4), 1 + k (4)  the confirms from k * kPartCoins on, kPartCoins of them at most
//
// Numbers are big endian, so that keys sort as numbers do.
#pragma once

#include "cdb_coin_set_api.h"
#include "ordered_kv/ordered_kv.h"
#include "layouts/with_confirms.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace cdb::coin_set {

constexpr size_t kPartCoins = 32;     // confirms in one part of a block
constexpr size_t kBlockKeyBytes = 8;  // index, part

using BlockKey = std::array<uint8_t, kBlockKeyBytes>;

// Part 0 is the block's head; part 1 + k holds its confirms from k * kPartCoins on.
inline BlockKey block_key(uint64_t index, uint64_t part) {
  BlockKey key;
  store_big_endian(key.data(), index << 32 | part);
  return key;
}

inline size_t parts_of(size_t n_confirms) { return (n_confirms + kPartCoins - 1) / kPartCoins; }

// The value of a block's part 0, in the buffer.
Span block_head(const cdb_set_block &block, Bytes *buffer);

// Calls put(key, value) for each row of a block, in the order of keys.
template <typename Put>
void put_block(const cdb_set_block &block, Bytes *buffer, Put put) {
  put(block_key(block.index, 0), block_head(block, buffer));
  for (size_t k = 0; k < parts_of(block.n_confirms); ++k) {
    const size_t n = std::min(kPartCoins, block.n_confirms - k * kPartCoins);
    put(block_key(block.index, 1 + k),
        Span(block.confirms + k * kPartCoins * kConfirmBytes, n * kConfirmBytes));
  }
}

// Where a coin is: in which block, and at which position among its confirms. tag: what the asker
// calls it.
struct Place {
  size_t tag;
  uint32_t index;
  uint32_t position;
};

using Placed = WithConfirms<Place>;

// Sets what blocks hold of the coins at these places in infos[tag].
void read_coins(const Source &source, uint8_t space, std::vector<Place> places, okv_reuse reuse,
                cdb_coin_info *infos);

inline void copy_confirm(const uint8_t *confirm, cdb_coin_info *info) {
  std::memcpy(info->parent, confirm, sizeof info->parent + sizeof info->puzzle_hash);
  info->amount = load_big_endian(confirm + kAmountAt);
}

// The same where the confirm's bytes are the first of the info.
static_assert(offsetof(cdb_coin_info, puzzle_hash) == kNameBytes &&
              offsetof(cdb_coin_info, amount) == kAmountAt);
inline void take_confirm(cdb_coin_info *info) {
  info->amount = load_big_endian(reinterpret_cast<const uint8_t *>(&info->amount));
}

// Copies a coin's confirm where it is at hand; adds its place to those that have to be read where
// it is not.
inline void take_coin(const Span &confirm, const Place &place, std::vector<Place> *unread,
                      cdb_coin_info *infos) {
  if (confirm.n == 0)
    unread->push_back(place);
  else
    copy_confirm(confirm.bytes, &infos[place.tag]);
}

// The index of the newest block up to a limit, by the last key there is: no second place could
// disagree. -1: there is none.
int64_t newest_block(const Source &source, uint8_t space, int64_t limit);

// That of the oldest block from one index on, up to a limit. -1: there is none.
int64_t first_block(const Source &source, uint8_t space, uint64_t from, int64_t limit);

// Reads the blocks first … last in order from one moment's view of them.
class BlockCursor {
 public:
  BlockCursor(const Source &source, uint8_t space, uint32_t first, uint32_t last);
  // Whether there is another block, which is good until the next call.
  bool next(cdb_set_block *block);
  // Lets go of the engine; what next() gave last stays good.
  void release_view() { rows_.release(); }

 private:
  bool has(size_t n);
  void read_head(cdb_set_block *block) const;
  void read_parts(cdb_set_block *block);

  const bool is_of_one_;
  Scan rows_;
  size_t next_ = 0;  // of the rows in memory; those before it were given
};

}  // namespace cdb::coin_set
