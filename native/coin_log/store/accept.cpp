// Accepting blocks, all checked, without an index lookup for each coin.
//
// What is looked up is every spend, and the doubtful coins of each block (common/parents.h).
//
// All blocks of a call are entered into the index first and looked up together; a row counts only
// if it comes before what asks for it. On a refusal the index is cut back.
#include "coin_log/format/failure.h"
#include "coin_log/store/store.h"

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
        kinds_(state_.kinds),
        records_(state_.log.buffer()) {}

  // How many blocks were accepted, before one that breaks a rule.
  size_t run(bool trusting);

 private:
  void prepare();
  int64_t newest_before(size_t block) const;
  void check_limits(size_t block) const;
  void add_record(size_t block);
  void note_explicit_parents(size_t block);
  void enter();
  void stop_behind(size_t repeated, std::vector<uint32_t> *known);
  void find_duplicates(const std::vector<uint32_t> &known);
  void find_spends();
  void look_ahead(uint32_t row) const;
  void prefetch_spent(uint32_t row) const;
  void find_spend(size_t spend, uint32_t limit);
  void verify_spends();
  // The row before limit that has the name, or kNoRow: all candidates are held against it.
  uint32_t find_exactly(const uint8_t *name, uint32_t limit) const;
  void apply();
  bool apply_block(size_t block);
  bool apply_spends(size_t block);
  bool repeats_a_coin(size_t block) const;
  void take_back();
  void roll_back();
  void commit();
  void add_blocks(uint64_t bytes);

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

  RewardKinds kinds_;  // before the next block to prepare; readers see them with the blocks
  Joined joined_;
  size_t prepared_ = 0;  // blocks that break no rule by themselves
  size_t good_ = 0;      // those of them that break none at all
  std::vector<RecordHeader> headers_;
  Bytes records_;
  // Of prepared blocks, for NewBlocks.
  std::vector<uint32_t> explicit_parents_;
  std::vector<uint32_t> doubtful_;    // coins of the call that may be there already, ascending
  std::vector<uint32_t> duplicates_;  // those of them that do
  bool is_repeated_ = false;          // a coin of the last prepared block, which an earlier one has
  std::vector<uint32_t> spend_rows_;  // kNoRow: unknown
  std::vector<Claim> unverified_;     // spends of the call that were found by the index alone
  std::vector<uint32_t> block_spends_;  // that the block at hand has spent so far
};

size_t Store::accept(const Blocks &blocks, bool trusting, const RecordHeader *replayed) {
  check_taken_back();
  checkpoint_if_due();  // of blocks that were all refused late, only names are left
  const size_t accepted = Acceptance(this, blocks, replayed).run(trusting);
  const size_t n_unverified = validation_.unverified.size();
  if (n_unverified >= options_.unverified_spends || (n_unverified > 0 && readers_.are_waiting()))
    verify();
  checkpoint_if_due();
  return accepted;
}

// What was found by the index alone is believed, but not to refuse a block.
size_t Acceptance::run(bool trusting) {
  prepare();
  enter();
  find_spends();
  if (!trusting) verify_spends();
  apply();
  const bool is_refused = good_ < blocks_.n;
  if (is_refused && (!unverified_.empty() || validation_.unverified.size() > 0)) {
    take_back();
    store_.verify();
    verify_spends();
    apply();
  }
  commit();
  return good_;
}

void Acceptance::prepare() {
  for (; prepared_ < blocks_.n; ++prepared_) {
    join(blocks_, prepared_, &joined_);
    if (!keeps_rules(blocks_, prepared_, newest_before(prepared_), joined_)) return;
    check_limits(prepared_);
    add_record(prepared_);
    note_explicit_parents(prepared_);
    validation_.parents.examine(blocks_, prepared_, joined_, first_row_, &doubtful_);
  }
}

int64_t Acceptance::newest_before(size_t block) const {
  if (block > 0) return static_cast<int64_t>(blocks_.indices[block - 1]);
  return state_.blocks.empty() ? -1 : int64_t{state_.blocks.back().index};
}

void Acceptance::check_limits(size_t block) const {
  if (first_row_ + blocks_.confirm_ends[block] > kMostRows)
    throw Failure(CDB_LIMIT, "", "this format holds 2^32 - 1 coins");
}

void Acceptance::add_record(size_t block) {
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
      append_record(blocks_, block, joined_, kinds_, header, state_.log.seed(offset), &records_));
}

void Acceptance::note_explicit_parents(size_t block) {
  for (const uint32_t coin : joined_.explicit_parents) {
    const size_t place = blocks_.confirm_begin(block) + coin;
    kinds_.introduce(blocks_.confirm(place), state_.blocks.size() + block);
    explicit_parents_.push_back(static_cast<uint32_t>(place));
  }
}

// Readers pass over rows that no block has yet.
void Acceptance::enter() {
  std::vector<uint32_t> known;
  {
    const Change change(access_);
    const size_t coins = blocks_.confirm_begin(prepared_);
    const size_t repeated = state_.index.insert(blocks_.names, coins, first_row_, &known);
    if (repeated < coins) stop_behind(repeated, &known);
    state_.spent.resize(first_row_ + blocks_.confirm_begin(prepared_));
  }
  find_duplicates(known);
}

// The coin repeats one of an earlier block of the call, so that no block behind its own is reached.
// Nor are those entered: a coin that each of many blocks repeats would take ever longer to enter.
void Acceptance::stop_behind(size_t repeated, std::vector<uint32_t> *known) {
  const uint64_t *const end =
      std::upper_bound(blocks_.confirm_ends, blocks_.confirm_ends + prepared_, repeated);
  prepared_ = static_cast<size_t>(end - blocks_.confirm_ends) + 1;
  is_repeated_ = true;
  doubtful_.erase(std::lower_bound(doubtful_.begin(), doubtful_.end(), *end), doubtful_.end());
  for (size_t coin = repeated + 1; coin < *end;) {
    std::vector<uint32_t> known_too;
    const size_t next =
        state_.index.insert(blocks_.name(coin), *end - coin, row_of_coin(coin), &known_too);
    for (const uint32_t each : known_too) known->push_back(static_cast<uint32_t>(coin) + each);
    coin += next + 1;
  }
}

// known: the coins whose bits the memtable had before.
void Acceptance::find_duplicates(const std::vector<uint32_t> &known) {
  Bytes names(doubtful_.size() * kNameBytes);
  for (size_t i = 0; i < doubtful_.size(); ++i)
    std::memcpy(&names[i * kNameBytes], blocks_.name(doubtful_[i]), kNameBytes);
  std::vector<uint32_t> rows(doubtful_.size());
  state_.index.find_behind(names.data(), rows.size(), rows.data());
  for (size_t i = 0; i < doubtful_.size(); ++i) {
    const uint32_t coin = doubtful_[i];
    if (rows[i] == kNoRow && !std::binary_search(known.begin(), known.end(), coin)) continue;
    if (find_exactly(blocks_.name(coin), row_of_coin(coin)) != kNoRow) duplicates_.push_back(coin);
  }
}

void Acceptance::find_spends() {
  spend_rows_.resize(blocks_.spend_begin(prepared_));
  state_.index.find(blocks_.spends, spend_rows_.size(), spend_rows_.data());
  for (size_t block = 0; block < prepared_; ++block)
    for (size_t spend = blocks_.spend_begin(block); spend < blocks_.spend_ends[block]; ++spend) {
      if (spend + kAhead < spend_rows_.size()) look_ahead(spend_rows_[spend + kAhead]);
      find_spend(spend, row_behind(block));
    }
}

void Acceptance::look_ahead(uint32_t row) const {
  if (row >= first_row_) return;
  prefetch_spent(row);
  prefetch(validation_.recent_names.name(row));
}

void Acceptance::prefetch_spent(uint32_t row) const {
  if (row != kNoRow) state_.spent.prefetch_row(row);
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

void Acceptance::apply() {
  while (good_ < prepared_ && apply_block(good_)) ++good_;
}

bool Acceptance::apply_block(size_t block) { return apply_spends(block) && !repeats_a_coin(block); }

bool Acceptance::apply_spends(size_t block) {
  block_spends_.clear();
  const uint32_t index = static_cast<uint32_t>(blocks_.indices[block]);
  for (size_t spend = blocks_.spend_begin(block); spend < blocks_.spend_ends[block]; ++spend) {
    // By now the caches have other things.
    if (spend + kAhead < spend_rows_.size()) prefetch_spent(spend_rows_[spend + kAhead]);
    const uint32_t row = spend_rows_[spend];
    if (row == kNoRow || state_.spent[row] != 0) return false;
    state_.spent.set(row, index);
    block_spends_.push_back(row);
  }
  return true;
}

bool Acceptance::repeats_a_coin(size_t block) const {
  return (!duplicates_.empty() && duplicates_.front() < blocks_.confirm_ends[block]) ||
         (is_repeated_ && block + 1 == prepared_);
}

// Undo what apply() did.
void Acceptance::take_back() {
  for (const uint32_t row : block_spends_) state_.spent.set(row, 0);
  for (size_t spend = 0; spend < blocks_.spend_begin(good_); ++spend)
    state_.spent.set(spend_rows_[spend], 0);
  good_ = 0;
}

// What a refused block has spent before it was refused is unspent, and its rows are forgotten.
void Acceptance::roll_back() {
  for (const uint32_t row : block_spends_) state_.spent.set(row, 0);
  const uint32_t rows = row_before(good_);
  state_.spent.resize(rows);
  validation_.parents.cut(rows);
  const size_t begin = blocks_.confirm_begin(good_), end = blocks_.confirm_begin(prepared_);
  state_.index.take_back(blocks_.name(begin), end - begin, rows);
}

void Acceptance::commit() {
  uint64_t bytes = 0;
  for (size_t block = 0; block < good_; ++block) bytes += headers_[block].length;
  if (replayed_ == nullptr && bytes > 0) {
    records_.resize(bytes);
    state_.log.append(std::move(records_));
  }
  const size_t spends = blocks_.spend_begin(good_);
  const uint32_t first_spend = static_cast<uint32_t>(checkpoints_.new_spent_rows().size());
  checkpoints_.add_spent_rows(spend_rows_.data(), spends);
  validation_.recent_names.add(blocks_.names, blocks_.confirm_begin(good_), first_row_);
  const Change change(access_);  // within it the blocks come to be there
  if (good_ < prepared_) roll_back();
  // Before the blocks are there: of those that were refused nothing is entered.
  state_.keys.enter({blocks_, good_, state_.extent(), newest_before(0), explicit_parents_});
  add_blocks(bytes);
  state_.rule_probes = validation_.parents.probes();
  for (const Claim &claim : unverified_)
    if (claim.spend < spends)
      validation_.unverified.add({claim.row, first_spend + claim.spend, claim.name});
}

// bytes: of their records.
void Acceptance::add_blocks(uint64_t bytes) {
  uint64_t offset = state_.log.end();
  state_.log.extend(bytes);
  for (size_t block = 0; block < good_; ++block) {
    state_.add_block(headers_[block], offset);
    offset += headers_[block].length;
  }
  kinds_.cut(state_.blocks.size());
  state_.kinds = std::move(kinds_);
}

}  // namespace cdb::coin_log
