// Which coins a query asks for: candidates by the indexes, then what the block table and the spent
// rows say of them, their order, and only then their records.
//
// - A puzzle hash has an index of its own.
// - A parent's children are mostly confirmed by the block that spends it; those of a reward by the
//   block of its height or the next one (reward_parents.h). There they lie side by side: a record's
//   coins ascend by parent. For the others, the index of odd parents has their blocks.
// - Blocks have ranges of rows, and the names of what they spend.
//
// Each record of which a coin is given was held against its checksum once: a coin alone does not
// tell whether it is damaged.
#pragma once

#include "coin_log/state/state.h"

namespace cdb::coin_log {

class Query {
 public:
  // values: n of them, of the query's key.
  Query(const State &state, const cdb_query &query, const uint8_t *values, size_t n);

  // The coins, in their order. To be called once.
  std::vector<cdb_found_coin> answer();

 private:
  // A row that may hold what is asked for. value: the puzzle hash that it must have; or, where it
  // was found by that, the name that it has; null: neither.
  struct Choice {
    uint64_t place;  // in the order: the index of the change, if that is the order; then the row
    const uint8_t *value;

    uint32_t row() const { return static_cast<uint32_t>(place); }
    bool operator<(const Choice &other) const { return place < other.place; }
  };

  void choose_by_name(const uint8_t *names, size_t n);
  void choose_by_puzzle_hash();
  void choose_by_parent();
  void choose_children(size_t block, const uint8_t *parent);
  void choose_by_ranges();
  bool are_few_spends(size_t first_block, size_t last_block) const;
  void choose_spends(size_t first_block, size_t last_block);
  void choose_rows(uint32_t first_row, uint32_t end_row);
  void choose(uint32_t row, const uint8_t *value);

  size_t block_from(uint64_t index) const;
  uint32_t index_of(uint32_t row) const;
  // What has to be told apart by name: the coins of one block, or those that one block has changed.
  uint64_t group_of(const Choice &choice) const;
  // Whether there are as many as are asked for, and no coin from this row on comes before them.
  bool has_all_before(uint32_t row) const;
  void take_choices();
  // Have the choices up to this one in their order, and perhaps some more.
  void order_up_to(size_t n);
  size_t next_chunk(size_t begin);
  void announce(const uint32_t *rows, size_t n) const;
  void take(size_t begin, size_t end);
  // name: the coin's; null: it is not known.
  void add(const CoinView &view, const uint8_t *name);
  void sort_group();

  const State &state_;
  const cdb_query &query_;
  const Bytes values_;  // each once
  const size_t n_values_;
  uint32_t first_row_ = 0, end_row_ = 0;  // of the blocks that may have confirmed them
  uint32_t changed_row_ = 0;              // from here on, rows are of blocks that count as changed

  std::vector<Choice> choices_;
  size_t ordered_ = 0;
  std::vector<cdb_found_coin> coins_;
  size_t group_begin_ = 0;  // of the coins: where those of the last group begin
  uint64_t group_ = UINT64_MAX;
  uint32_t last_row_ = kNoRow;  // that was added
};

}  // namespace cdb::coin_log
