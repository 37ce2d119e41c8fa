// Accepting blocks, all checked, without an index lookup for each coin.
//
// A coin's name contains its parent's, and a coin is spent once. So a coin whose parent is spent,
// validly, by the very block that confirms it can exist already only if it was confirmed once before
// by a block that did not spend the parent: as an irregular coin. Each irregular coin's parent is in
// the index as well, so the lookup that a spend takes anyway tells whether there was such a child.
// What is looked up is therefore: every spend; every irregular coin (rewards, mostly); and the
// children of the spends that had an irregular child before.
//
// All blocks of a call are entered into the index first and looked up together; a candidate counts
// only if its row comes before what asks for it. On a refusal the index is cut back.
#include "failure.h"
#include "store.h"

#include <algorithm>

namespace coin_log {

namespace {
constexpr uint32_t kNoRow = UINT32_MAX;
constexpr uint64_t kMostRows = UINT32_MAX;
}  // namespace

class Acceptance {
 public:
  Acceptance(Store &store, const Blocks &blocks, const RecordHeader *replayed)
      : store_(store), blocks_(blocks), replayed_(replayed), first_row_(store.rows_) {}

  bool run(cdb_coin_log_refusal *refusal);

 private:
  struct Irregular {
    uint32_t coin;  // within the call
    bool is_duplicate;
  };

  void prepare();
  cdb_coin_log_rule broken_rule(size_t block);
  void check_limits(size_t block) const;
  void add_record(size_t block);
  void add_irregular(size_t block);
  void find_spends();
  void match_spends(const std::vector<Hit> &hits);
  void find_irregular();
  // Tells of each name whether a row before limits[i] has it.
  std::vector<uint8_t> exist(const Bytes &names, const std::vector<uint32_t> &limits) const;
  void apply();
  bool apply_block(size_t block);
  bool apply_spends(size_t block);
  bool check_irregular(size_t block);
  bool check_children(size_t block, size_t spend);
  bool refuse(size_t block, cdb_coin_log_rule rule, const uint8_t *name);
  void roll_back();
  void commit();

  bool is_in_log(uint32_t row) const { return row < first_row_; }
  uint32_t row_of_coin(size_t coin) const { return first_row_ + static_cast<uint32_t>(coin); }
  const uint8_t *confirm_at(uint32_t row) const { return blocks_.confirm(row - first_row_); }
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
  std::vector<Index::Placed> placed_;
  std::vector<Irregular> irregular_;
  size_t next_irregular_ = 0;
  std::vector<uint32_t> spend_rows_;      // kNoRow: unknown
  std::vector<uint8_t> had_child_;        // of each spend: an irregular one, before its block
  std::vector<uint32_t> block_spends_;    // that the block at hand has spent so far
  cdb_coin_log_refusal refusal_ = {0, COIN_LOG_NO_RULE, {0}};
};

bool Store::accept_all(const Blocks &blocks, const RecordHeader *replayed,
                       cdb_coin_log_refusal *refusal) {
  const bool accepted = Acceptance(*this, blocks, replayed).run(refusal);
  checkpoint_if_due();
  return accepted;
}

bool Acceptance::run(cdb_coin_log_refusal *refusal) {
  prepare();
  store_.index_.insert(placed_);
  find_spends();
  find_irregular();
  apply();
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
  placed_.reserve(blocks_.confirm_count() + blocks_.confirm_count() / 4);
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

// A block's rows are entered before the next one's, so that the index can be cut between them.
void Acceptance::add_irregular(size_t block) {
  const size_t begin = blocks_.confirm_begin(block);
  for (size_t coin = begin; coin < blocks_.confirm_ends[block]; ++coin)
    placed_.push_back(store_.index_.placed(blocks_.name(coin), row_of_coin(coin)));
  for (const uint32_t coin : joined_.explicit_parents)
    placed_.push_back(
        store_.index_.placed(blocks_.confirm(begin + coin), row_of_coin(begin + coin)));
  for (const uint32_t coin : joined_.irregular)
    irregular_.push_back({static_cast<uint32_t>(begin) + coin, false});
}

void Acceptance::find_spends() {
  const size_t n = blocks_.spend_begin(prepared_);
  spend_rows_.assign(n, kNoRow);
  had_child_.assign(n, 0);
  std::vector<Hit> hits, in_log;
  store_.index_.find(blocks_.spends, n, &hits);
  size_t block = 0;
  for (const Hit &hit : hits) {
    while (hit.query >= blocks_.spend_ends[block]) ++block;
    if (is_in_log(hit.row)) {
      in_log.push_back(hit);
      continue;
    }
    if (hit.row >= row_of_coin(blocks_.confirm_ends[block])) continue;
    const uint8_t *const name = blocks_.spend(hit.query);
    if (std::memcmp(name_at(hit.row), name, kNameBytes) == 0)
      spend_rows_[hit.query] = hit.row;
    else if (std::memcmp(confirm_at(hit.row), name, kNameBytes) == 0)
      had_child_[hit.query] = 1;
  }
  match_spends(in_log);
}

void Acceptance::match_spends(const std::vector<Hit> &hits) {
  CoinView views[Store::kFetch];
  for (size_t done = 0; done < hits.size(); done += Store::kFetch) {
    const size_t group = std::min(Store::kFetch, hits.size() - done);
    for (size_t i = 0; i < group; ++i) prefetch(&store_.spent_[hits[done + i].row]);
    store_.fetch(&hits[done], group, views);
    for (size_t i = 0; i < group; ++i) {
      const uint32_t query = hits[done + i].query;
      const uint8_t *const name = blocks_.spend(query);
      if (views[i].parent_is_explicit && std::memcmp(views[i].parent, name, kNameBytes) == 0)
        had_child_[query] = 1;
      else if (store_.has_name(views[i], name))
        spend_rows_[query] = views[i].row;
    }
  }
}

void Acceptance::find_irregular() {
  Bytes names(irregular_.size() * kNameBytes);
  std::vector<uint32_t> limits;
  for (size_t i = 0; i < irregular_.size(); ++i) {
    const uint32_t coin = irregular_[i].coin;
    std::memcpy(names.data() + i * kNameBytes, blocks_.name(coin), kNameBytes);
    limits.push_back(row_of_coin(coin));
  }
  const std::vector<uint8_t> duplicates = exist(names, limits);
  for (size_t i = 0; i < irregular_.size(); ++i) irregular_[i].is_duplicate = duplicates[i] != 0;
}

std::vector<uint8_t> Acceptance::exist(const Bytes &names,
                                       const std::vector<uint32_t> &limits) const {
  std::vector<uint8_t> found(limits.size());
  std::vector<Hit> hits;
  store_.index_.find(names.data(), limits.size(), &hits);
  for (const Hit &hit : hits) {
    if (hit.row >= limits[hit.query]) continue;
    const uint8_t *const name = names.data() + size_t{hit.query} * kNameBytes;
    if (is_in_log(hit.row)) {
      CoinView view;
      store_.fetch(&hit, 1, &view);
      const bool is_parent_entry =
          view.parent_is_explicit && std::memcmp(view.parent, name, kNameBytes) == 0;
      if (!is_parent_entry && store_.has_name(view, name)) found[hit.query] = 1;
    } else if (std::memcmp(name_at(hit.row), name, kNameBytes) == 0) {
      found[hit.query] = 1;
    }
  }
  return found;
}

void Acceptance::apply() {
  store_.spent_.resize(first_row_ + blocks_.confirm_begin(prepared_));
  while (good_ < prepared_ && apply_block(good_)) ++good_;
}

bool Acceptance::apply_block(size_t block) {
  return apply_spends(block) && check_irregular(block);
}

bool Acceptance::apply_spends(size_t block) {
  block_spends_.clear();
  const uint32_t index = static_cast<uint32_t>(blocks_.indices[block]);
  for (size_t spend = blocks_.spend_begin(block); spend < blocks_.spend_ends[block]; ++spend) {
    const uint32_t row = spend_rows_[spend];
    if (row == kNoRow) return refuse(block, COIN_LOG_UNKNOWN, blocks_.spend(spend));
    if (store_.spent_[row] != 0) return refuse(block, COIN_LOG_SPENT, blocks_.spend(spend));
    if (had_child_[spend] != 0 && !check_children(block, spend)) return false;
    store_.spent_[row] = index;
    block_spends_.push_back(row);
  }
  return true;
}

bool Acceptance::check_irregular(size_t block) {
  for (; next_irregular_ < irregular_.size(); ++next_irregular_) {
    const Irregular &irregular = irregular_[next_irregular_];
    if (irregular.coin >= blocks_.confirm_ends[block]) break;
    if (irregular.is_duplicate)
      return refuse(block, COIN_LOG_DUPLICATE, blocks_.name(irregular.coin));
  }
  return true;
}

bool Acceptance::check_children(size_t block, size_t spend) {
  Bytes names;
  std::vector<uint32_t> limits;
  std::vector<size_t> coins;
  for (size_t coin = blocks_.confirm_begin(block); coin < blocks_.confirm_ends[block]; ++coin) {
    if (std::memcmp(blocks_.confirm(coin), blocks_.spend(spend), kNameBytes) != 0) continue;
    names.insert(names.end(), blocks_.name(coin), blocks_.name(coin) + kNameBytes);
    limits.push_back(row_of_coin(coin));
    coins.push_back(coin);
  }
  const std::vector<uint8_t> found = exist(names, limits);
  const auto duplicate = std::find(found.begin(), found.end(), 1);
  if (duplicate == found.end()) return true;
  const size_t coin = coins[static_cast<size_t>(duplicate - found.begin())];
  return refuse(block, COIN_LOG_DUPLICATE, blocks_.name(coin));
}

// What a refused block has spent before it was refused is unspent, and its rows are forgotten.
void Acceptance::roll_back() {
  for (const uint32_t row : block_spends_) store_.spent_[row] = 0;
  const uint32_t rows = row_of_coin(blocks_.confirm_begin(good_));
  store_.spent_.resize(rows);
  store_.index_.cut(rows);
}

void Acceptance::commit() {
  if (good_ < blocks_.n) roll_back();
  uint64_t offset = store_.log_.end(), bytes = 0;
  for (size_t block = 0; block < good_; ++block) bytes += headers_[block].length;
  if (replayed_ != nullptr)
    store_.log_.set_end(offset + bytes);
  else if (bytes > 0)
    store_.log_.append(records_, bytes);
  for (size_t block = 0; block < good_; ++block) {
    store_.add_block(headers_[block], offset);
    offset += headers_[block].length;
  }
  const size_t spends = blocks_.spend_begin(good_);
  store_.new_spent_rows_.insert(store_.new_spent_rows_.end(), spend_rows_.begin(),
                                spend_rows_.begin() + static_cast<ptrdiff_t>(spends));
}

void Store::add_block(const RecordHeader &header, uint64_t offset) {
  const uint32_t block = static_cast<uint32_t>(blocks_.size());
  blocks_.push_back({offset, header.block_index, rows_, header.geometry});
  rows_ += header.geometry.coins;
  while (64 * block_hints_.size() < rows_) block_hints_.push_back(block);
  last_checksum_ = header.checksum;
}

}  // namespace coin_log
