// Accepting blocks, all checked, without an index lookup for each coin.
//
// A coin's name contains its parent's, and a coin is spent once. So a coin whose parent is spent,
// validly, by the very block that confirms it can exist already only if it was confirmed once before
// by a block that did not spend the parent: as an irregular coin. Those are remembered by their
// parent (early_children.h). What is looked up is therefore: every spend; every irregular coin
// whose parent is no new reward's; and the children of the spends that may have an early child.
//
// All blocks of a call are entered into the index first and looked up together; a row counts only if
// it comes before what asks for it. On a refusal the index is cut back.
#include "failure.h"
#include "store.h"

#include <algorithm>

namespace coin_log {

namespace {
constexpr uint64_t kMostRows = UINT32_MAX;
constexpr size_t kAhead = 8;
}  // namespace

class Acceptance {
 public:
  Acceptance(Store &store, const Blocks &blocks, const RecordHeader *replayed)
      : store_(store),
        blocks_(blocks),
        replayed_(replayed),
        first_row_(store.rows_),
        records_(store.log_.buffer()) {}

  bool run(bool trusting, cdb_coin_log_refusal *refusal);

 private:
  void prepare();
  cdb_coin_log_rule broken_rule(size_t block);
  void check_limits(size_t block) const;
  void add_record(size_t block);
  void add_irregular(size_t block);
  bool is_new_parent(const uint8_t *parent);
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
  bool check_irregular(size_t block);
  bool check_children(size_t block, size_t spend);
  size_t first_child(size_t block, const uint8_t *parent) const;
  bool refuse(size_t block, cdb_coin_log_rule rule, const uint8_t *name);
  void take_back();
  void roll_back();
  void commit();

  uint32_t row_of_coin(size_t coin) const { return first_row_ + static_cast<uint32_t>(coin); }
  // The rows before the block's coins, or before those of the one after it.
  uint32_t row_before(size_t block) const { return row_of_coin(blocks_.confirm_begin(block)); }
  uint32_t row_behind(size_t block) const { return row_of_coin(blocks_.confirm_ends[block]); }
  const uint8_t *name_at(uint32_t row) const { return blocks_.name(row - first_row_); }

  Store &store_;
  const Blocks &blocks_;
  const RecordHeader *const replayed_;
  const uint32_t first_row_;

  Joined joined_;
  size_t prepared_ = 0;             // blocks that break no rule by themselves
  size_t good_ = 0;                 // those of them that break none at all
  std::vector<RecordHeader> headers_;
  Bytes records_;
  std::vector<uint32_t> irregular_;     // coins of the call that may exist already, ascending
  std::vector<uint32_t> duplicates_;    // those of them that do
  const uint8_t *repeated_ = nullptr;   // a coin of the last prepared block that an earlier one has
  std::vector<uint32_t> spend_rows_;    // kNoRow: unknown
  std::vector<Claim> unverified_;       // spends of the call that were found by the index alone
  std::vector<uint32_t> block_spends_;  // that the block at hand has spent so far
  cdb_coin_log_refusal refusal_ = {0, COIN_LOG_NO_RULE, {0}};
  cdb_coin_log_refusal unprepared_ = refusal_;  // of the block that prepare() has stopped at
};

bool Store::accept_all(const Blocks &blocks, const RecordHeader *replayed, bool trusting,
                       cdb_coin_log_refusal *refusal) {
  const bool accepted = Acceptance(*this, blocks, replayed).run(trusting, refusal);
  if (unverified_.size() >= options_.unverified_spends) verify();
  checkpoint_if_due();
  return accepted;
}

// What was found by the index alone is believed, but not to refuse a block.
bool Acceptance::run(bool trusting, cdb_coin_log_refusal *refusal) {
  prepare();
  unprepared_ = refusal_;
  enter();
  find_spends();
  if (!trusting) verify_spends();
  apply();
  const bool is_refused_on_trust = refusal_.rule != COIN_LOG_NO_RULE &&
                                   (!unverified_.empty() || store_.unverified_.size() > 0);
  if (is_refused_on_trust) {
    take_back();
    store_.verify();
    verify_spends();
    apply();
  }
  commit();
  *refusal = refusal_;
  return refusal_.rule == COIN_LOG_NO_RULE;
}

bool Acceptance::refuse(size_t block, cdb_coin_log_rule rule, const uint8_t *name) {
  refusal_.block = block;
  refusal_.rule = rule;
  if (name != nullptr) std::memcpy(refusal_.coin_name, name, kNameBytes);
  return false;
}

void Acceptance::prepare() {
  for (; prepared_ < blocks_.n; ++prepared_) {
    join(blocks_, prepared_, &joined_);
    const cdb_coin_log_rule rule = broken_rule(prepared_);
    if (rule != COIN_LOG_NO_RULE) {
      const uint8_t *const twice =
          rule == COIN_LOG_CONFIRM_TWICE ? joined_.confirmed_twice : joined_.spent_twice;
      refuse(prepared_, rule, twice);
      return;
    }
    check_limits(prepared_);
    add_record(prepared_);
    add_irregular(prepared_);
  }
}

cdb_coin_log_rule Acceptance::broken_rule(size_t block) {
  const uint64_t index = blocks_.indices[block];
  const bool has_newest = block > 0 || !store_.blocks_.empty();
  const uint64_t newest = block > 0               ? blocks_.indices[block - 1]
                          : has_newest            ? store_.blocks_.back().index
                                                  : 0;
  if (index > UINT32_MAX || (has_newest && index <= newest)) return COIN_LOG_ORDER;
  if (index == 0 && blocks_.spend_ends[block] > 0) return COIN_LOG_SPENDS_AT_ZERO;
  if (joined_.is_unsorted) return COIN_LOG_UNSORTED;
  if (joined_.confirmed_twice != nullptr) return COIN_LOG_CONFIRM_TWICE;
  if (joined_.spent_twice != nullptr) return COIN_LOG_SPEND_TWICE;
  return COIN_LOG_NO_RULE;
}

void Acceptance::check_limits(size_t block) const {
  if (first_row_ + blocks_.confirm_ends[block] > kMostRows)
    throw Failure(COIN_LOG_LIMIT, "", "this format holds 2^32 - 1 coins");
}

void Acceptance::add_record(size_t block) {
  if (replayed_ != nullptr) {
    headers_.push_back(replayed_[block]);
    return;
  }
  RecordHeader header = {};
  header.previous_checksum =
      headers_.empty() ? store_.last_checksum_ : headers_.back().checksum;
  header.epoch = store_.epoch_;
  header.first_row = first_row_ + blocks_.confirm_begin(block);
  header.durable_upto = store_.acked_.length(store_.epoch_);
  const uint64_t offset = store_.log_.end() + records_.size();
  headers_.push_back(append_record(blocks_, block, joined_, header, offset, &records_));
}

void Acceptance::add_irregular(size_t block) {
  const size_t begin = blocks_.confirm_begin(block);
  const uint8_t *last_parent = nullptr;
  bool is_new = false;
  for (const uint32_t place : joined_.irregular) {
    const size_t coin = begin + place;
    const uint8_t *const parent = blocks_.confirm(coin);
    const bool is_sibling = last_parent != nullptr && is_same_name(parent, last_parent);
    if (!is_sibling) is_new = is_new_parent(parent);
    if (!is_new) irregular_.push_back(static_cast<uint32_t>(coin));
    if (!is_reward_parent(parent))
      store_.early_children_.add(store_.index_.bits().of(parent), row_of_coin(coin));
    last_parent = parent;
  }
}

// Whether it is sure that no coin has this parent.
bool Acceptance::is_new_parent(const uint8_t *parent) {
  if (!is_reward_parent(parent)) return false;
  const bool is_new = store_.reward_parents_.is_new(parent);
  store_.reward_parents_.add(parent);
  return is_new;
}

void Acceptance::enter() {
  std::vector<uint32_t> known;
  const size_t coins = blocks_.confirm_begin(prepared_);
  const size_t entered = store_.index_.insert(blocks_.names, coins, first_row_, &known);
  if (entered < coins) stop_behind(entered - 1, &known);
  find_duplicates(known);
  store_.spent_.resize(first_row_ + blocks_.confirm_begin(prepared_));
}

// The coin repeats one of an earlier block of the call, so that no block behind its own is reached. Nor
// are those entered: a coin that each of many blocks repeats would take ever longer to enter.
void Acceptance::stop_behind(size_t repeated, std::vector<uint32_t> *known) {
  const uint64_t *const end =
      std::upper_bound(blocks_.confirm_ends, blocks_.confirm_ends + prepared_, repeated);
  prepared_ = static_cast<size_t>(end - blocks_.confirm_ends) + 1;
  repeated_ = blocks_.name(repeated);
  irregular_.erase(std::lower_bound(irregular_.begin(), irregular_.end(), *end), irregular_.end());
  for (size_t coin = repeated + 1; coin < *end;) {
    std::vector<uint32_t> known_too;
    const size_t entered =
        store_.index_.insert(blocks_.name(coin), *end - coin, row_of_coin(coin), &known_too);
    for (const uint32_t each : known_too) known->push_back(static_cast<uint32_t>(coin) + each);
    coin += entered;
  }
}

// known: the coins whose bits the memtable had before.
void Acceptance::find_duplicates(const std::vector<uint32_t> &known) {
  Bytes names(irregular_.size() * kNameBytes);
  for (size_t i = 0; i < irregular_.size(); ++i)
    std::memcpy(&names[i * kNameBytes], blocks_.name(irregular_[i]), kNameBytes);
  std::vector<uint32_t> rows(irregular_.size());
  store_.index_.find_behind(names.data(), rows.size(), rows.data());
  for (size_t i = 0; i < irregular_.size(); ++i) {
    const uint32_t coin = irregular_[i];
    if (rows[i] == kNoRow && !std::binary_search(known.begin(), known.end(), coin)) continue;
    if (find_exactly(blocks_.name(coin), row_of_coin(coin)) != kNoRow) duplicates_.push_back(coin);
  }
}

void Acceptance::find_spends() {
  spend_rows_.resize(blocks_.spend_begin(prepared_));
  store_.index_.find(blocks_.spends, spend_rows_.size(), spend_rows_.data());
  for (size_t block = 0; block < prepared_; ++block)
    for (size_t spend = blocks_.spend_begin(block); spend < blocks_.spend_ends[block]; ++spend) {
      if (spend + kAhead < spend_rows_.size()) look_ahead(spend_rows_[spend + kAhead]);
      find_spend(spend, row_behind(block));
    }
}

void Acceptance::look_ahead(uint32_t row) const {
  if (row >= first_row_) return;
  prefetch_spent(row);
  prefetch(store_.recent_names_.name(row));
}

void Acceptance::prefetch_spent(uint32_t row) const {
  if (row != kNoRow) prefetch(&store_.spent_[row]);
}

void Acceptance::find_spend(size_t spend, uint32_t limit) {
  uint32_t &row = spend_rows_[spend];
  if (row == kNoRow) return;
  const uint8_t *const name = blocks_.spend(spend);
  const uint8_t *name_there = nullptr;
  if (row < first_row_) {
    name_there = store_.recent_names_.name(row);
    if (name_there == nullptr) {
      unverified_.push_back({row, static_cast<uint32_t>(spend), name});
      return;
    }
  } else if (row < limit) {
    name_there = name_at(row);
  }
  if (name_there == nullptr || !is_same_name(name_there, name))
    row = find_exactly(name, limit);
}

void Acceptance::verify_spends() {
  store_.log_.settle();
  size_t block = 0;
  for (const Claim &claim : store_.false_claims(unverified_)) {
    while (claim.spend >= blocks_.spend_ends[block]) ++block;
    spend_rows_[claim.spend] = find_exactly(claim.name, row_behind(block));
  }
  unverified_.clear();
}

uint32_t Acceptance::find_exactly(const uint8_t *name, uint32_t limit) const {
  for (const uint32_t row : store_.index_.find_all(name))
    if (row >= first_row_ && row < limit && is_same_name(name_at(row), name))
      return row;
  store_.log_.settle();
  return store_.find_exactly(name, limit);
}

void Acceptance::apply() {
  while (good_ < prepared_ && apply_block(good_)) ++good_;
}

bool Acceptance::apply_block(size_t block) {
  return apply_spends(block) && check_irregular(block);
}

bool Acceptance::apply_spends(size_t block) {
  block_spends_.clear();
  const uint32_t index = static_cast<uint32_t>(blocks_.indices[block]);
  for (size_t spend = blocks_.spend_begin(block); spend < blocks_.spend_ends[block]; ++spend) {
    // By now the caches have other things.
    if (spend + kAhead < spend_rows_.size()) prefetch_spent(spend_rows_[spend + kAhead]);
    const uint32_t row = spend_rows_[spend];
    if (row == kNoRow) return refuse(block, COIN_LOG_UNKNOWN, blocks_.spend(spend));
    if (store_.spent_[row] != 0) return refuse(block, COIN_LOG_SPENT, blocks_.spend(spend));
    if (!check_children(block, spend)) return false;
    store_.spent_[row] = index;
    block_spends_.push_back(row);
  }
  return true;
}

bool Acceptance::check_irregular(size_t block) {
  if (!duplicates_.empty() && duplicates_.front() < blocks_.confirm_ends[block])
    return refuse(block, COIN_LOG_DUPLICATE, blocks_.name(duplicates_.front()));
  if (repeated_ != nullptr && block + 1 == prepared_)
    return refuse(block, COIN_LOG_DUPLICATE, repeated_);
  return true;
}

bool Acceptance::check_children(size_t block, size_t spend) {
  if (store_.early_children_.empty()) return true;
  const uint8_t *const parent = blocks_.spend(spend);
  const uint32_t limit = row_before(block);
  if (!store_.early_children_.may_have(store_.index_.bits().of(parent), limit)) return true;
  for (size_t coin = first_child(block, parent);
       coin < blocks_.confirm_ends[block] && is_same_name(blocks_.confirm(coin), parent); ++coin)
    if (find_exactly(blocks_.name(coin), limit) != kNoRow)
      return refuse(block, COIN_LOG_DUPLICATE, blocks_.name(coin));
  return true;
}

// Where the block has the coins of this parent, or would have them.
size_t Acceptance::first_child(size_t block, const uint8_t *parent) const {
  size_t low = blocks_.confirm_begin(block), high = blocks_.confirm_ends[block];
  while (low < high) {
    ++store_.confirms_compared_;
    const size_t middle = low + (high - low) / 2;
    if (compare_names(blocks_.confirm(middle), parent) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Undo what apply() did.
void Acceptance::take_back() {
  for (const uint32_t row : block_spends_) store_.spent_[row] = 0;
  for (size_t spend = 0; spend < blocks_.spend_begin(good_); ++spend)
    store_.spent_[spend_rows_[spend]] = 0;
  good_ = 0;
  refusal_ = unprepared_;
}

// What a refused block has spent before it was refused is unspent, and its rows are forgotten.
void Acceptance::roll_back() {
  for (const uint32_t row : block_spends_) store_.spent_[row] = 0;
  const uint32_t rows = row_before(good_);
  store_.spent_.resize(rows);
  store_.early_children_.cut(rows);
  const size_t begin = blocks_.confirm_begin(good_), end = blocks_.confirm_begin(prepared_);
  store_.index_.take_back(blocks_.name(begin), end - begin, rows);
}

void Acceptance::commit() {
  if (good_ < prepared_) roll_back();
  uint64_t offset = store_.log_.end(), bytes = 0;
  for (size_t block = 0; block < good_; ++block) bytes += headers_[block].length;
  if (replayed_ != nullptr) {
    store_.log_.set_end(offset + bytes);
  } else if (bytes > 0) {
    records_.resize(bytes);
    store_.log_.append(std::move(records_));
  }
  for (size_t block = 0; block < good_; ++block) {
    store_.add_block(headers_[block], offset);
    offset += headers_[block].length;
  }
  const size_t spends = blocks_.spend_begin(good_);
  const uint32_t first_spend = static_cast<uint32_t>(store_.new_spent_rows_.size());
  for (const Claim &claim : unverified_)
    if (claim.spend < spends)
      store_.unverified_.add({claim.row, first_spend + claim.spend, claim.name});
  store_.new_spent_rows_.insert(store_.new_spent_rows_.end(), spend_rows_.begin(),
                                spend_rows_.begin() + static_cast<ptrdiff_t>(spends));
  store_.recent_names_.add(blocks_.names, blocks_.confirm_begin(good_), first_row_);
}

void Store::add_block(const RecordHeader &header, uint64_t offset) {
  const uint32_t block = static_cast<uint32_t>(blocks_.size());
  blocks_.push_back({offset, header.block_index, rows_, header.geometry});
  rows_ += header.geometry.coins;
  while (64 * block_hints_.size() < rows_) block_hints_.push_back(block);
  last_checksum_ = header.checksum;
}

}  // namespace coin_log
