// The coin set in an engine: blocks by their indexes, and what a layout makes of coins and spends.
//
// It knows neither the engine nor, but by layouts/, what a key looks like.
#pragma once

#include "block_log.h"
#include "layouts/layout.h"
#include "pending.h"
#include "stored_keys.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cdb::coin_set {

using layouts::Asked;
using layouts::CoinState;
using layouts::Found;

class Store {
 public:
  Store(const std::string &path, const cdb_set_options &options);
  void close() { engine_.close(); }

  int64_t newest() const { return newest_; }
  int64_t indexed() const { return indexed_; }
  bool is_rewinding() const { return is_rewinding_; }
  okv_stats stats() const { return engine_.stats(); }

  // Names are looked up in any order; where there are many, in parts at the same time.
  //
  // Finds indexed coins as of a block or the newest one: sets found[tag] to 1 and infos[tag], its
  // spent_index only if the coin is spent.
  void find(const std::vector<Asked> &names, int64_t as_of, cdb_coin_info *infos,
            uint8_t *found) const;
  // Sets spent[tag] for each of these coins that is spent.
  void find_spent(const std::vector<Asked> &names, uint32_t *spent) const;
  // Appends where these coins are, as far as there are some.
  void find_places(const std::vector<Asked> &names, Placed *places) const;
  // The smallest tag of a name that is a coin's; SIZE_MAX without one.
  size_t first_existing(const std::vector<Asked> &names) const;
  // The smallest tag of a name that is not an unspent coin's; SIZE_MAX without one. What is known
  // of the coins comes to known, by their tags.
  size_t first_unspendable(const std::vector<Asked> &names, std::vector<Placed> *known) const;
  // Sets what blocks hold of the coins at these places in infos[tag].
  void read_coins(std::vector<Place> places, cdb_coin_info *infos) const;
  const layouts::Layout &layout() const { return *layout_; }
  std::unique_ptr<BlockCursor> cursor(uint32_t first, uint32_t last) const;
  const Engine &engine() const { return engine_; }
  void verify() const { engine_.verify(); }

  // Null: it has no secondary keys.
  const StoredKeys *keys() const { return keys_ ? &*keys_ : nullptr; }
  // See StoredKeys::make().
  uint64_t make_keys(uint64_t max_coins);

  // What is to be known of the parents of indexed coins.
  Parents read_parents() const;

  // Writes the blocks that are not committed, in one atomic step; they count once set_newest() says
  // so.
  void commit(const Pending &pending);
  void set_newest(int64_t newest) { newest_ = newest; }
  // Writes where the coins are and what is spent, and their secondary keys, in one atomic step with
  // the mark of what is indexed. It counts once set_indexed() says so.
  void index(const Pending &pending);
  void set_indexed() { indexed_ = newest_; }
  void checkpoint() { engine_.checkpoint(); }
  void settle() { engine_.settle(); }
  // Writes that nothing above the newest block up to this one counts, and gives that one.
  int64_t begin_rewind(int64_t newest);
  void set_rewinding(int64_t kept);
  void set_rewound() { is_rewinding_ = false; }
  void erase(const Blocks &blocks);
  void end_rewind();

 private:
  void index_by_runs(const Pending &pending);
  // Entries of what is pending, where secondary keys are kept.
  KeyRows key_rows(const Pending &pending) const;
  void erase_keys(const Blocks &blocks, Batch *batch) const;
  void check_undo(int64_t kept) const;
  void read_spent(const Bytes &names, int64_t kept) const;
  Found look_up(const std::vector<Asked> &sorted, int64_t as_of, okv_reuse reuse) const;

  const std::unique_ptr<const layouts::Layout> layout_;
  Engine engine_;
  const okv_durability durability_;
  const uint64_t ingest_entries_;
  int64_t newest_ = -1;  // what lies above it is being erased
  int64_t indexed_ = -1;
  bool is_rewinding_ = false;
  std::optional<StoredKeys> keys_;
};

}  // namespace cdb::coin_set
