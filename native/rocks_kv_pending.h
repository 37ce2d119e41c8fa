// Blocks that were accepted and are not committed yet, in memory.
#pragma once

#include "cdb_rocks_kv_api.h"

#include <array>
#include <cstring>
#include <vector>

inline int compare_names(const uint8_t *a, const uint8_t *b) {
  return std::memcmp(a, b, CDB_NAME_BYTES);
}

// A coin that a pending block confirms, or an older one that a pending block spends.
struct PendingCoin {
  uint8_t name[CDB_NAME_BYTES];
  uint32_t confirmed_index;
  uint32_t position;     // among the confirms of its block
  uint32_t spent_index;  // 0: unspent
  bool is_confirmed;     // else it is an older coin, and the two fields above mean nothing
};

// Finds coins by name: open addressing over their positions in a vector.
//
// The hash is keyed anew in each process, since anybody can put any 32 bytes into a block's spends.
class NameTable {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  NameTable();
  size_t find(const std::vector<PendingCoin> &coins, const uint8_t *name) const;
  // Enters the last of the coins, whose name must be new.
  void add_last(const std::vector<PendingCoin> &coins);
  void rebuild(const std::vector<PendingCoin> &coins);

 private:
  size_t slot_of(const uint8_t *name) const;
  void enter(const std::vector<PendingCoin> &coins, size_t i);

  std::array<uint64_t, CDB_NAME_BYTES / 8> keys_;  // odd
  std::vector<uint32_t> slots_;                    // position + 1; 0 is empty
  unsigned shift_ = 0;                             // 64 - log2(slots)
};

struct PendingBlock {
  uint32_t index;
  uint64_t timestamp;
  size_t spend_end;    // the number of spends up to and with this block,
  size_t confirm_end;  // and of confirms
};

class Pending {
 public:
  const std::vector<PendingBlock> &blocks() const { return blocks_; }
  const std::vector<PendingCoin> &coins() const { return coins_; }
  const PendingCoin *find(const uint8_t *name) const;
  cdb_kv_block block(size_t i) const;
  const cdb_kv_block *find_block(uint32_t index, cdb_kv_block *block) const;
  size_t entries() const;  // confirms and spends
  bool empty() const { return blocks_.empty(); }

  // Adds block b of the chunk. Returns false where it breaks a rule that shows without the
  // database; then part of it may have been added, and keep() must follow.
  bool add(const cdb_kv_blocks &chunk, size_t b);
  // Drops all blocks but the first n_blocks, which left n_coins coins.
  void keep(size_t n_blocks, size_t n_coins);
  void clear();

 private:
  bool confirm(const uint8_t *name, uint32_t index, uint32_t position);
  bool spend(const uint8_t *name, uint32_t index);

  std::vector<PendingBlock> blocks_;
  std::vector<PendingCoin> coins_;
  std::vector<uint8_t> spends_;
  std::vector<uint8_t> confirms_;
  NameTable table_;
};
