// Accepting blocks: what is known of coins, for the rules (rules/block_rules.h), without an index
// lookup for each coin. What is looked up is every spend, and the doubtful coins of each block
// (rules/parents.h).
//
// All blocks of a call are entered into the index first and looked up together; a row counts only
// if it comes before what asks for it. On a refusal the index is cut back.
#include "coin_log/format/failure.h"
#include "coin_log/store/store.h"
#include "rules/block_rules.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {
constexpr uint64_t kMostRows = UINT32_MAX;
constexpr size_t kAhead = 8;
}  // namespace

class Acceptance {
 public:
  Acceptance(Store *store, const Blocks &blocks, const RecordHeader *replayed)
      : store_(*store),
        state_(store->state_),
        access_(store->access_),
        validation_(store->validation_),
        checkpoints_(store->checkpoints_),
        blocks_(blocks),
        replayed_(replayed),
        first_row_(state_.row_count),
        rules_(blocks, state_.blocks.empty() ? -1 : int64_t{state_.blocks.back().index}, first_row_,
               &validation_.parents, this),
        kinds_(state_.kinds),
        records_(state_.log.buffer()) {}

  // How many blocks were accepted, before one that breaks a rule.
  size_t run(bool trusting);

 private:
  friend class BlockRules<Acceptance>;

  void take(size_t block, const Joined &joined);
  size_t enter(size_t n_blocks);
  size_t first_existing(const std::vector<uint32_t> &coins);
  void find_spends(size_t n_blocks);
  uint32_t row_of_spend(size_t spend) const { return spend_rows_[spend]; }
  void prefetch_row(uint32_t row) const {
    if (row != kNoRow) state_.spent.prefetch_row(row);
  }
  bool spend(uint32_t row, uint32_t block_index);
  void unspend(uint32_t row) { state_.spent.set(row, 0); }

  void add_record(size_t block, const Joined &joined);
  void look_ahead(uint32_t row) const;
  void find_spend(size_t spend, uint32_t limit);
  void verify_spends();
  // The row before limit that has the name, or kNoRow: all candidates are held against it.
  uint32_t find_exactly(const uint8_t *name, uint32_t limit) const;
  void roll_back(size_t good);
  void commit(size_t good);
  void add_blocks(size_t good, uint64_t bytes);

  uint32_t row_of_coin(size_t coin) const { return first_row_ + static_cast<uint32_t>(coin); }
  // The rows before the block's coins, or before those of the one after it.
  uint32_t row_before(size_t block) const { return row_of_coin(blocks_.confirm_begin(block)); }
  uint32_t row_behind(size_t block) const { return row_of_coin(blocks_.confirm_ends[block]); }
  const uint8_t *name_at(uint32_t row) const { return blocks_.name(row - first_row_); }

  Store &store_;
  State &state_;
  Access &access_;
  Validation &validation_;
  Checkpoints &checkpoints_;
  const Blocks &blocks_;
  const RecordHeader *const replayed_;
  const uint32_t first_row_;

  BlockRules<Acceptance> rules_;
  RewardKinds kinds_;  // before the next block to take; readers see them with the blocks
  std::vector<RecordHeader> headers_;
  Bytes records_;
  size_t entered_ = 0;                // coins that the index has
  std::vector<uint32_t> known_;       // those of them whose bits the memtable had before
  std::vector<uint32_t> spend_rows_;  // kNoRow: unknown
  std::vector<Claim> unverified_;     // spends of the call that were found by the index alone
};

size_t Store::accept(const Blocks &blocks, bool trusting, const RecordHeader *replayed) {
  check_taken_back();
  checkpoint_if_due();  // of blocks that were all refused late, only names are left
  const size_t accepted = Acceptance(this, blocks, replayed).run(trusting);
  const bool is_full = validation_.unverified.size() >= options_.unverified_spends;
  if (is_full || (!is_verified() && readers_.are_waiting())) verify();
  checkpoint_if_due();
  return accepted;
}

// What was found by the index alone is believed, but not to refuse a block.
size_t Acceptance::run(bool trusting) {
  rules_.examine();
  if (!trusting) verify_spends();
  size_t good = rules_.spend();
  const bool is_refused = good < blocks_.n;
  if (is_refused && (!unverified_.empty() || !store_.is_verified())) {
    rules_.unspend();
    store_.verify();
    verify_spends();
    good = rules_.spend();
  }
  commit(good);
  return good;
}

void Acceptance::take(size_t block, const Joined &joined) {
  if (first_row_ + blocks_.confirm_ends[block] > kMostRows)
    throw Failure(CDB_LIMIT, "", "this format holds 2^32 - 1 coins");
  add_record(block, joined);
  for (const uint32_t coin : joined.explicit_parents)
    kinds_.introduce(blocks_.confirm(blocks_.confirm_begin(block) + coin),
                     state_.blocks.size() + block);
}

void Acceptance::add_record(size_t block, const Joined &joined) {
  if (replayed_ != nullptr) {
    headers_.push_back(replayed_[block]);
    return;
  }
  RecordHeader header = {};
  header.previous_checksum = headers_.empty() ? state_.last_checksum : headers_.back().checksum;
  header.epoch = store_.epoch_;
  header.first_row = row_before(block);
  header.durable_upto = store_.acked_.length(store_.epoch_);
  const uint64_t offset = state_.log.end() + records_.size();
  headers_.push_back(
      append_record(blocks_, block, joined, kinds_, header, state_.log.seed(offset), &records_));
}

// Readers pass over rows that no block has yet. Behind a coin that repeats one of the call nothing
// is entered: a coin that each of many blocks repeats would take ever longer.
size_t Acceptance::enter(size_t n_blocks) {
  const Change change(access_);
  const size_t coins = blocks_.confirm_begin(n_blocks);
  const size_t repeated = state_.index.insert(blocks_.names, coins, first_row_, &known_);
  entered_ = std::min(coins, repeated + 1);
  state_.spent.resize(first_row_ + entered_);
  state_.spent.reserve(blocks_.spend_begin(n_blocks));
  return repeated < coins ? repeated : kNoCoin;
}

size_t Acceptance::first_existing(const std::vector<uint32_t> &coins) {
  Bytes names(coins.size() * kNameBytes);
  for (size_t i = 0; i < coins.size(); ++i)
    std::memcpy(&names[i * kNameBytes], blocks_.name(coins[i]), kNameBytes);
  std::vector<uint32_t> rows(coins.size());
  state_.index.find_behind(names.data(), rows.size(), rows.data());
  for (size_t i = 0; i < coins.size(); ++i) {
    if (rows[i] == kNoRow && !std::binary_search(known_.begin(), known_.end(), coins[i])) continue;
    if (find_exactly(blocks_.name(coins[i]), row_of_coin(coins[i])) != kNoRow) return coins[i];
  }
  return kNoCoin;
}

void Acceptance::find_spends(size_t n_blocks) {
  spend_rows_.resize(blocks_.spend_begin(n_blocks));
  state_.index.find(blocks_.spends, spend_rows_.size(), spend_rows_.data());
  for (size_t block = 0; block < n_blocks; ++block)
    for (size_t spend = blocks_.spend_begin(block); spend < blocks_.spend_ends[block]; ++spend) {
      if (spend + kAhead < spend_rows_.size()) look_ahead(spend_rows_[spend + kAhead]);
      find_spend(spend, row_behind(block));
    }
}

void Acceptance::look_ahead(uint32_t row) const {
  if (row >= first_row_) return;
  prefetch_row(row);
  prefetch(validation_.recent_names.name(row));
}

void Acceptance::find_spend(size_t spend, uint32_t limit) {
  uint32_t &row = spend_rows_[spend];
  if (row == kNoRow) return;
  const uint8_t *const name = blocks_.spend(spend);
  const uint8_t *name_there = nullptr;
  if (row < first_row_) {
    name_there = validation_.recent_names.name(row);
    if (name_there == nullptr) {
      unverified_.push_back({row, static_cast<uint32_t>(spend), name});
      return;
    }
  } else if (row < limit) {
    name_there = name_at(row);
  }
  if (name_there == nullptr || !is_same_name(name_there, name)) row = find_exactly(name, limit);
}

void Acceptance::verify_spends() {
  state_.log.drain();
  size_t block = 0;
  for (const Claim &claim : store_.false_claims(unverified_)) {
    while (claim.spend >= blocks_.spend_ends[block]) ++block;
    spend_rows_[claim.spend] = find_exactly(claim.name, row_behind(block));
  }
  unverified_.clear();
}

uint32_t Acceptance::find_exactly(const uint8_t *name, uint32_t limit) const {
  for (const uint32_t row : state_.index.find_all(name))
    if (row >= first_row_ && row < limit && is_same_name(name_at(row), name)) return row;
  state_.log.drain();
  return state_.find_exactly(name, limit);
}

bool Acceptance::spend(uint32_t row, uint32_t block_index) {
  if (state_.spent[row] != 0) return false;
  state_.spent.set(row, block_index);
  return true;
}

// The rows of what was refused are forgotten.
void Acceptance::roll_back(size_t good) {
  const uint32_t rows = row_before(good);
  state_.spent.resize(rows);
  validation_.parents.cut(rows);
  const size_t begin = blocks_.confirm_begin(good);
  state_.index.take_back(blocks_.name(begin), entered_ - begin, rows);
}

void Acceptance::commit(size_t good) {
  uint64_t bytes = 0;
  for (size_t block = 0; block < good; ++block) bytes += headers_[block].length;
  if (replayed_ == nullptr && bytes > 0) {
    records_.resize(bytes);
    state_.log.append(std::move(records_));
  }
  const size_t spends = blocks_.spend_begin(good);
  const uint32_t first_spend = static_cast<uint32_t>(checkpoints_.new_spent_rows().size());
  checkpoints_.add_spent_rows(spend_rows_.data(), spends);
  validation_.recent_names.add(blocks_.names, blocks_.confirm_begin(good), first_row_);
  const Change change(access_);  // within it the blocks come to be there
  if (good < blocks_.n) roll_back(good);
  // Before the blocks are there: of those that were refused nothing is entered.
  state_.keys.enter(rules_.good(), state_.extent());
  add_blocks(good, bytes);
  state_.rule_probes = validation_.parents.probes();
  for (const Claim &claim : unverified_)
    if (claim.spend < spends)
      validation_.unverified.add({claim.row, first_spend + claim.spend, claim.name});
}

// bytes: of their records.
void Acceptance::add_blocks(size_t good, uint64_t bytes) {
  uint64_t offset = state_.log.end();
  state_.log.extend(bytes);
  for (size_t block = 0; block < good; ++block) {
    state_.add_block(headers_[block], offset);
    offset += headers_[block].length;
  }
  kinds_.cut(state_.blocks.size());
  state_.kinds = std::move(kinds_);
}

}  // namespace cdb::coin_log
