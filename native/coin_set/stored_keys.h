// The secondary keys that the engine has; see keys.h. The mark "keys" tells how far they are made:
//
//   keys   bits of a hash that are told apart (4), the newest block up to which they are made (8),
//          the secret (80)
//
// It moves with the entries, in one step. Once they are made, an index's step writes those of its
// coins, too.
#pragma once

#include "block_log.h"
#include "keys.h"

#include <cstdint>
#include <string_view>

namespace cdb::coin_set {

constexpr std::string_view kKeysMark = "keys";

class StoredKeys {
 public:
  // name_bits: of keys that are made newly. anew: those that there are count for nothing.
  StoredKeys(const Engine &engine, uint32_t name_bits, bool anew);

  const NameBits &bits() const { return bits_; }
  bool are_begun() const { return made_ != kNotBegun; }
  bool are_made() const { return made_ == kAll; }
  // Whether what is indexed takes entries along.
  bool take_entries() const { return made_ > kErasing; }

  // One step of their making, up to the block `indexed`; gives the coins that it went over. From
  // so many entries on it is by sorted runs.
  uint64_t make(int64_t indexed, uint64_t max_coins, uint64_t ingest_entries,
                okv_durability durability);

  // The entries with these bits and first ≤ index ≤ last, in their order.
  Scan scan(uint8_t space, uint64_t bits, uint32_t first, uint32_t last, size_t page_bytes) const;

  // Add to a sum what there is up to the block `newest`; and what blocks from an index on make,
  // about so many coins of them: gives the index to go on from, or -1.
  void sum_entries(int64_t newest, KeySum *sum) const;
  int64_t sum_blocks(int64_t first, int64_t newest, uint64_t max_coins, KeySum *sum,
                     uint64_t *coins) const;

 private:
  static constexpr int64_t kAll = INT64_MAX;  // what is indexed, all of it
  static constexpr int64_t kErasing = -2;     // what was there before is in the way
  static constexpr int64_t kNotBegun = -3;

  Bytes mark(int64_t made) const;
  void write_mark(int64_t made, okv_durability durability) const;
  bool erase_some(size_t most);
  bool erase_some_of(uint8_t space, size_t most);
  // Calls each(block, before) for blocks with about so many coins; gives the last one's index.
  template <typename Each>
  int64_t read_blocks(int64_t before, int64_t last, uint64_t max_coins, uint64_t *coins,
                      Each each) const;

  const Engine &engine_;
  NameBits bits_;
  int64_t made_ = kNotBegun;
  Bytes erased_;  // up to this key
};

// A block of the log among packed blocks. names: those of its coins, for which there is room.
class LoggedBlock {
 public:
  LoggedBlock(const cdb_set_block &block, Bytes *names);
  LoggedBlock(const LoggedBlock &) = delete;
  LoggedBlock &operator=(const LoggedBlock &) = delete;

  const Blocks &blocks() const { return blocks_; }

 private:
  const uint64_t index_, timestamp_, spend_end_, confirm_end_;
  Blocks blocks_;
};

}  // namespace cdb::coin_set
