// Which coins a query asks for: candidates by keys, by names or by blocks; then what their spends
// say of them, and their order; and only then the coins themselves, no more than are given.
//
// - The entries of a puzzle hash stand in the order of an answer, with names. A scan ends where
//   nothing that follows can be among the first.
// - A parent's children lie side by side in a block: the one that spends it, or tells by a reward's
//   height, or that `parents` has an entry for. Their names are made from what they are: so all
//   the children of a parent are read, whatever is filtered.
// - All else goes over blocks: over those that confirm what is asked for, or those that spend it.
//
// A coin that proves to be another one than was asked for, since hashes share their bits, or to be
// worth too little, is left out late. If too few are left then, the query is asked again for more.
#pragma once

#include "view.h"

#include <algorithm>
#include <array>

namespace cdb::coin_set {

class Query {
 public:
  // values: n of them, of the query's key.
  Query(const View &view, const cdb_query &query, const uint8_t *values, size_t n);

  // The coins, in their order. To be called once.
  std::vector<cdb_found_coin> answer();

  // What it has looked at: entries of secondary keys, and coins that were read.
  uint64_t entries() const { return entries_; }
  uint64_t coins_read() const { return coins_read_; }

 private:
  // value: what it must have; null: it has it for sure.
  struct Candidate {
    uint32_t index;
    uint32_t position;
    uint32_t spent;
    const uint8_t *value;
    std::array<uint8_t, kNameBytes> name;

    uint32_t changed() const { return std::max(index, spent); }
  };

  void choose();
  void choose_by_puzzle_hash(const uint8_t *puzzle_hash);
  void choose_stored(const uint8_t *puzzle_hash);
  void choose_pending(const uint8_t *puzzle_hash);
  void choose_by_parents();
  std::vector<Family> families() const;
  void add_odd_families(const uint8_t *parent, std::vector<Family> *to) const;
  void add_reward_families(const uint8_t *parent, std::vector<Family> *to) const;
  void choose_children(const std::vector<Place> &places);
  void choose_by_names(const uint8_t *names, size_t n);
  void choose_by_ranges();
  void choose_confirmed(uint32_t first, uint32_t last);
  void choose_spent(uint32_t first, uint32_t last, int64_t confirmed_before);

  // Coins that are accepted, or may be yet; and whether what came since in the order of an answer
  // is enough of it.
  uint64_t most_so_far() const { return accepted_ + added_.size(); }
  bool has_enough_since(uint64_t so_far) const {
    return !is_by_change_ && accepted_ >= so_far && accepted_ - so_far >= most_;
  }
  bool is_within(uint32_t index) const { return first_ <= index && index <= last_; }
  void add(uint32_t index, uint32_t position, const uint8_t *name, const uint8_t *value);
  void find_spent(std::vector<Candidate> *coins) const;
  bool is_asked_for(const Candidate &coin) const;
  // Takes what was added among the chosen ones, if it is asked for.
  void accept_added();
  bool comes_before(const Candidate &a, const Candidate &b) const;
  void keep_first();

  void take();
  void take(const Candidate *coins, size_t n);
  void set_timestamps();

  const View &view_;
  const cdb_query &query_;
  const Bytes values_;  // each once
  const size_t n_values_;
  const bool is_by_change_;
  const bool filters_spent_;  // or orders by it
  uint64_t most_;             // coins that are chosen
  int64_t first_ = 0;         // of the blocks that may have confirmed them
  int64_t last_ = 0;

  std::vector<Candidate> added_;
  std::vector<Candidate> chosen_;
  uint64_t accepted_ = 0;  // that were chosen, also those that others have replaced since
  bool is_cut_ = false;    // there may be more
  std::vector<cdb_found_coin> coins_;
  mutable uint64_t entries_ = 0;
  uint64_t coins_read_ = 0;
};

}  // namespace cdb::coin_set
