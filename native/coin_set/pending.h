// What is in memory in front of the engine: blocks until they are committed, and their
// coins and spends until they are indexed.
#pragma once

#include "block_log.h"
#include "cdb_coin_set_api.h"
#include "rules/parents.h"
#include "layouts/pending_coin.h"
#include "pending_keys.h"
#include "layouts/with_confirms.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace cdb::coin_set {

// Finds coins by name: open addressing over their positions in a vector, and half of their hashes.
// A hash is computed once a name, and handed over with it.
class NameTable {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  NameTable() { clear(); }
  uint64_t hash(const uint8_t *name) const { return hash_.of(name); }
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[home(tag_of(hash))]); }
  // probes: the slots that are looked at are added.
  size_t find(const std::vector<PendingCoin> &coins, const uint8_t *name, uint64_t hash,
              uint64_t *probes) const;
  // Enters the last of the coins, whose name must be new.
  void add_last(const std::vector<PendingCoin> &coins, uint64_t hash);
  // Takes the last of the coins out again.
  void remove_last(const std::vector<PendingCoin> &coins);
  void clear();
  // Slots that changes have looked at so far.
  uint64_t probes() const { return probes_; }

 private:
  struct Slot {
    uint32_t tag;
    uint32_t count;  // of the coins up to this one; 0 is empty
  };

  static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }
  size_t home(uint32_t tag) const { return tag >> shift_; }
  void enter(const Slot &slot);
  void grow();

  KeyedHash hash_{random_hash_key()};
  std::vector<Slot> slots_;
  unsigned shift_ = 0;  // 32 - log2(slots)
  uint64_t probes_ = 0;
};

struct PendingBlock {
  uint32_t index;
  uint64_t timestamp;
  size_t spend_end;    // the number of uncommitted spends up to and with this block,
  size_t confirm_end;  // and of confirms
};

// Blocks that are not committed. Who reads them goes on with these when they are, and new ones come
// to others. While somebody else has them, they only grow, upwards: what was there stays as it was.
struct PendingBlocks {
  std::vector<PendingBlock> blocks;
  std::vector<uint8_t> spends;
  std::vector<uint8_t> confirms;

  cdb_set_block at(size_t i) const;
  // The first one with this index or a higher one.
  size_t first_from(uint64_t index) const;
};

// Coins that are not indexed. Who reads them goes on with these when they are, and new ones come to
// others. While somebody else has them, only blocks above those that he sees add coins and spends.
struct PendingCoins : WithConfirms<PendingCoin> {
  NameTable table;

  const PendingCoin *find(const uint8_t *name, uint64_t *probes) const;
  // The number of the first coin that a block with this index, or a higher one, has added.
  uint32_t first_from(uint64_t index) const;
};

class Pending {
 public:
  // Those that are not committed.
  const std::vector<PendingBlock> &blocks() const { return blocks_->blocks; }
  std::shared_ptr<const PendingBlocks> shared_blocks() const { return blocks_; }
  // Those that are not indexed.
  const std::vector<PendingCoin> &coins() const { return known_->coins; }
  // The same with their confirms, if these are kept.
  const WithConfirms<PendingCoin> &with_confirms() const { return *known_; }
  std::shared_ptr<const PendingCoins> shared_coins() const { return known_; }
  const PendingCoin *find(const uint8_t *name, uint64_t *probes) const {
    return known_->find(name, probes);
  }
  cdb_set_block block(size_t i) const { return blocks_->at(i); }
  const cdb_set_block *find_block(uint32_t index, cdb_set_block *block) const;
  const Parents &parents() const { return parents_; }
  // For who examines blocks: readers look at nothing of it.
  Parents *parents() { return &parents_; }
  // What is known of older coins, which blocks in memory spend, by their numbers.
  void set_older(const Placed &older);
  void restore_parents(Parents parents) { parents_ = std::move(parents); }
  // From here on secondary keys are kept, too.
  void keep_keys(const NameBits &bits) { keys_.emplace(bits); }
  // From here on each coin has a confirm; that of an older one comes by set_older().
  void keep_confirms() { keeps_confirms_ = true; }
  // Null: they are not.
  const PendingKeys *keys() const { return keys_ ? &*keys_ : nullptr; }
  uint32_t first_coin_from(uint64_t index) const { return known_->first_from(index); }
  size_t block_entries() const;  // uncommitted confirms and spends
  uint64_t probes() const { return known_->table.probes() + rule_probes_ + probes_; }

  // Adds the coins of a block and the older ones that it spends, and appends the numbers of all
  // that it spends to spent. A coin whose name is known belongs to a coin in memory, or to an older
  // one, if the block that spends that is good: behind it nothing is added, and its place within
  // the block is returned. Where there is none, that is the number of coins.
  size_t add_coins(const Blocks &blocks, size_t block, std::vector<uint32_t> *spent);
  // Spends a coin; false where another block has spent it.
  bool spend(uint32_t coin, uint32_t index);
  void unspend(uint32_t coin) { known_->coins[coin].spent_index = 0; }
  // Drops the coins from this one on.
  void cut_coins(size_t n_coins);
  // Adds the blocks themselves, and the secondary keys of their coins. first_coins: by block, the
  // number of its first coin.
  void add_blocks(const GoodBlocks &good, const std::vector<uint32_t> &first_coins);
  void drop_committed_blocks();
  void drop_indexed_coins();
  // Other blocks come in the place of some that readers see. All must be committed and indexed.
  void begin_branch();

 private:
  size_t number_of(const uint8_t *name, uint64_t hash) {
    return known_->table.find(known_->coins, name, hash, &probes_);
  }
  void add_coin(const uint8_t *name, uint64_t hash, const PendingCoin &fields);
  void resize_confirms(size_t n_coins);

  std::shared_ptr<PendingBlocks> blocks_ = std::make_shared<PendingBlocks>();
  std::shared_ptr<PendingCoins> known_ = std::make_shared<PendingCoins>();
  Parents parents_;  // it calls an early child by its place among the coins
  std::optional<PendingKeys> keys_;
  bool keeps_confirms_ = false;
  uint64_t rule_probes_ = 0, probes_ = 0;
};

}  // namespace cdb::coin_set
