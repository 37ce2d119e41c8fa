// What readers see at one moment: the blocks up to the newest one, in the engine and in memory.
#pragma once

#include "children.h"
#include "cursor.h"
#include "store.h"

namespace cdb::coin_set {

class View {
 public:
  // All of it stays as it is while somebody reads.
  View(const Store &store, const Pending &pending, int64_t newest)
      : store_(store), pending_(pending), newest_(newest) {}

  int64_t newest() const { return newest_; }
  const Store &store() const { return store_; }
  const Pending &pending() const { return pending_; }

  // The blocks first … last.
  std::unique_ptr<Cursor> cursor(uint32_t first, uint32_t last) const;
  // The index of the first block from one on; -1: there is none.
  int64_t first_block_from(uint64_t index) const;
  // The timestamps of blocks, whose indexes ascend.
  std::vector<uint64_t> timestamps(const std::vector<uint32_t> &indices) const;

  // Sets spent[tag] of each coin: by which block it is spent, or 0.
  void find_spent(const std::vector<Asked> &coins, uint32_t *spent) const;
  // Where the coins of these names are, as far as there are some.
  std::vector<Place> find_places(const std::vector<Asked> &names) const;
  // Sets what blocks hold of the coins at these places in infos[tag].
  void read_coins(const std::vector<Place> &places, cdb_coin_info *infos) const;
  // For families in order.
  void find_children(std::vector<Family> *families) const;

 private:
  // Null unless it is in memory.
  const cdb_set_block *pending_block(uint32_t index, cdb_set_block *block) const {
    return int64_t{index} <= store_.newest() ? nullptr : pending_.find_block(index, block);
  }

  const Store &store_;
  const Pending &pending_;
  const int64_t newest_;
};

}  // namespace cdb::coin_set
