#include "coin_log/state/query.h"

#include "common/coin_name.h"
#include "common/distinct_names.h"
#include "coin_log/format/failure.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr size_t kFirstOrdered = 512;
constexpr size_t kNames = 4096;       // that are looked up at a time
constexpr uint32_t kSlice = 1 << 14;  // rows that are chosen at a time, at most
// Looking a name up takes as long as looking at so many rows in memory.
constexpr uint64_t kRowsPerName = 64;
constexpr uint64_t kFewNames = 16;
constexpr uint64_t kBehindAll = uint64_t{1} << 32;  // of blocks' indices

}  // namespace

Query::Query(const State &state, const cdb_query &query, const uint8_t *values, size_t n)
    : state_(state),
      query_(query),
      values_(distinct_names(values, n)),
      n_values_(values_.size() / kNameBytes) {
  if (!state.keys.are_on() && (query.key == CDB_PUZZLE_HASH || query.key == CDB_PARENT))
    throw Failure(CDB_INVALID, "", "it was opened without secondary keys");
  first_row_ = state.first_row_of(block_from(query.first_confirmed));
  end_row_ = state.first_row_of(block_from(query.last_confirmed + 1));
  changed_row_ = state.first_row_of(block_from(query.changed_from));
}

// The first block with this index or a higher one.
size_t Query::block_from(uint64_t index) const {
  return state_.blocks_up_to(static_cast<int64_t>(std::min(index, kBehindAll)) - 1);
}

std::vector<cdb_found_coin> Query::answer() {
  if (query_.limit == 0) return {};
  switch (query_.key) {
    case CDB_NAME:
      choose_by_name(values_.data(), n_values_);
      break;
    case CDB_PUZZLE_HASH:
      choose_by_puzzle_hash();
      break;
    case CDB_PARENT:
      choose_by_parent();
      break;
    default:
      choose_by_ranges();
  }
  take_choices();
  sort_group();
  if (coins_.size() > query_.limit) coins_.resize(query_.limit);
  return std::move(coins_);
}

void Query::choose_by_name(const uint8_t *names, size_t n) {
  uint32_t rows[kNames] = {};
  for (size_t done = 0; done < n; done += kNames) {
    const size_t group = std::min(kNames, n - done);
    state_.find_rows(names + done * kNameBytes, group, rows);
    for (size_t i = 0; i < group; ++i)
      if (rows[i] != kNoRow) choose(rows[i], names + (done + i) * kNameBytes);
  }
}

void Query::choose_by_puzzle_hash() {
  std::vector<Candidate> candidates;
  state_.keys.of(IndexOf::kPuzzleHashes)
      .find_all(values_.data(), n_values_, first_row_, end_row_, &candidates);
  for (const Candidate &each : candidates) choose(each.place, each.key);
}

void Query::choose_by_parent() {
  if (first_row_ >= end_row_) return;
  const uint32_t n_blocks = static_cast<uint32_t>(state_.blocks.size());
  std::vector<Candidate> blocks;
  state_.keys.of(IndexOf::kOddParents).find_all(values_.data(), n_values_, 0, n_blocks, &blocks);
  std::vector<uint32_t> rows(n_values_);
  state_.find_rows(values_.data(), n_values_, rows.data());
  const auto add = [&](size_t block, const uint8_t *parent) {
    blocks.push_back({static_cast<uint32_t>(block), parent});
  };
  for (size_t i = 0; i < n_values_; ++i) {
    const uint8_t *const parent = &values_[i * kNameBytes];
    if (is_reward_parent(parent)) {
      const size_t next = state_.blocks_up_to(reward_height(parent));
      if (next > 0) add(next - 1, parent);
      add(next, parent);
    }
    const uint32_t spent_index = rows[i] == kNoRow ? 0 : state_.spent_index_of(rows[i]);
    if (spent_index != 0) add(block_from(spent_index), parent);
  }
  for (const Candidate &each : blocks)
    if (each.place < n_blocks) choose_children(each.place, each.key);
}

void Query::choose_children(size_t block, const uint8_t *parent) {
  const uint32_t end = state_.first_row_of(block + 1);
  if (end <= first_row_ || state_.first_row_of(block) >= end_row_) return;
  state_.check_record(block);
  // The first row from `low` on whose coin's parent compares so, or more.
  const auto first_from = [&](uint32_t low, int order) {
    for (uint32_t high = end; low < high;) {
      const uint32_t middle = low + (high - low) / 2;
      CoinView view;
      state_.fetch(&middle, 1, &view);
      if (compare_names(view.parent, parent) < order)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  const uint32_t first = first_from(state_.first_row_of(block), 0);
  choose_rows(first, first_from(first, 1));
}

// By what the blocks of a range have spent, where that is the shorter way.
void Query::choose_by_ranges() {
  const size_t first = block_from(std::max(query_.first_spent, query_.changed_from));
  const size_t last = block_from(std::min(query_.last_spent, kBehindAll) + 1);
  if (query_.first_spent > 0 && are_few_spends(first, last)) return choose_spends(first, last);
  if (changed_row_ > first_row_ && are_few_spends(first, last)) {
    choose_spends(first, last);
    return choose_rows(changed_row_, end_row_);
  }
  if (query_.by_change != 0) return choose_rows(first_row_, end_row_);
  // Rows are in their order: no more of them are looked at than are needed.
  uint32_t slice{kFirstOrdered};
  for (uint32_t row = first_row_; row < end_row_ && !has_all_before(row);) {
    const uint32_t end = row + std::min(slice, end_row_ - row);
    choose_rows(row, end);
    take_choices();
    row = end;
    slice = std::min(2 * slice, kSlice);
  }
}

bool Query::are_few_spends(size_t first_block, size_t last_block) const {
  const uint64_t rows = end_row_ - std::min(first_row_, end_row_);
  const uint64_t most = kFewNames + rows / kRowsPerName;
  uint64_t spends = 0;
  for (size_t block = first_block; block < last_block && spends <= most; ++block)
    spends += state_.blocks[block].geometry.spends;
  return spends <= most;
}

// The coins that these blocks spend.
void Query::choose_spends(size_t first_block, size_t last_block) {
  for (size_t block = first_block; block < last_block; ++block) {
    state_.check_record(block);
    const BlockLine line = state_.blocks[block];
    choose_by_name(state_.log.at(line.offset) + kHeaderBytes, line.geometry.spends);
  }
}

void Query::choose_rows(uint32_t first_row, uint32_t end_row) {
  for (uint32_t row = first_row; row < end_row; ++row) choose(row, nullptr);
}

// By what is in memory.
void Query::choose(uint32_t row, const uint8_t *value) {
  if (row < first_row_ || row >= end_row_) return;
  const uint32_t spent = state_.spent_index_of(row);
  if (spent < query_.first_spent || spent > query_.last_spent) return;
  if (row < changed_row_ && spent < query_.changed_from) return;
  uint64_t place = row;
  if (query_.by_change != 0) place |= uint64_t{std::max(spent, index_of(row))} << 32;
  choices_.push_back({place, value});
}

uint32_t Query::index_of(uint32_t row) const { return state_.blocks.index(state_.block_of(row)); }

uint64_t Query::group_of(const Choice &choice) const {
  return query_.by_change != 0 ? choice.place >> 32 : state_.block_of(choice.row());
}

bool Query::has_all_before(uint32_t row) const {
  return coins_.size() >= query_.limit &&
         (query_.any_of_block != 0 || state_.block_of(row) != group_);
}

void Query::take_choices() {
  if (coins_.empty()) coins_.reserve(std::min<uint64_t>(query_.limit, choices_.size()));
  for (size_t begin = 0; begin < choices_.size();) {
    const size_t end = next_chunk(begin);
    if (end == begin) break;
    take(begin, end);
    begin = end;
  }
  choices_.clear();
  ordered_ = 0;
}

// The part that is sorted doubles: of a million coins of one puzzle hash, a page takes no sort of
// them all.
void Query::order_up_to(size_t n) {
  const auto at = [this](size_t place) { return choices_.begin() + static_cast<ptrdiff_t>(place); };
  while (ordered_ < n) {
    const bool are_all = query_.limit >= choices_.size();
    const size_t end =
        are_all ? choices_.size() : std::min(choices_.size(), std::max(2 * n, kFirstOrdered));
    if (end < choices_.size()) std::nth_element(at(ordered_), at(end), choices_.end());
    std::sort(at(ordered_), at(end));
    ordered_ = end;
  }
}

// Where the choices end that are to be fetched next: no more than may be needed, but always a whole
// group where the limit ends within it, unless any of it will do. The same as begin: no more are
// needed.
size_t Query::next_chunk(size_t begin) {
  const bool is_full = coins_.size() >= query_.limit;
  if (is_full && query_.any_of_block != 0) return begin;
  const uint64_t missing = is_full ? 0 : query_.limit - coins_.size();
  const size_t most = std::min(State::kFetch, choices_.size() - begin);
  order_up_to(begin + most);
  size_t end = begin + std::min<uint64_t>(most, missing);
  if (is_full)
    while (end < begin + most && group_of(choices_[end]) == group_) ++end;
  return end;
}

// The records of rows that are in order, or nearly.
void Query::announce(const uint32_t *rows, size_t n) const {
  size_t last = state_.blocks.size();
  for (size_t i = 0; i < n; ++i) {
    const size_t block = state_.block_of(rows[i]);
    if (block != last) state_.announce_record(block);
    last = block;
  }
}

void Query::take(size_t begin, size_t end) {
  const Choice *const chosen = &choices_[begin];
  const size_t n = end - begin;
  uint32_t rows[State::kFetch] = {};
  CoinView views[State::kFetch];
  const bool is_by_hash = query_.key == CDB_PUZZLE_HASH;
  for (size_t i = 0; i < n; ++i) state_.spent.prefetch_row(rows[i] = chosen[i].row());
  announce(rows, n);
  state_.fetch(rows, n, views);
  for (size_t i = 0; i < n; ++i) {
    const CoinView &view = views[i];
    state_.check_record(view.block);
    if (view.row == last_row_ || view.amount < query_.least_amount) continue;
    if (is_by_hash && !is_same_name(view.puzzle_hash, chosen[i].value)) continue;
    if (const uint64_t group = group_of(chosen[i]); group != group_) {
      sort_group();
      group_ = group;
    }
    last_row_ = view.row;
    add(view, is_by_hash ? nullptr : chosen[i].value);
  }
}

void Query::add(const CoinView &view, const uint8_t *name) {
  const BlockLine line = state_.blocks[view.block];
  cdb_found_coin &coin = coins_.emplace_back();
  if (name != nullptr)
    std::memcpy(coin.name, name, kNameBytes);
  else
    name_coin(view.parent, view.puzzle_hash, view.amount, coin.name);
  std::memcpy(coin.parent, view.parent, kNameBytes);
  std::memcpy(coin.puzzle_hash, view.puzzle_hash, kNameBytes);
  coin.amount = view.amount;
  coin.confirmed_index = line.index;
  coin.spent_index = state_.spent_index_of(view.row);
  coin.timestamp = read_header(state_.log.at(line.offset)).timestamp;
}

void Query::sort_group() {
  std::sort(coins_.begin() + static_cast<ptrdiff_t>(group_begin_), coins_.end(),
            [](const cdb_found_coin &a, const cdb_found_coin &b) {
              return compare_names(a.name, b.name) < 0;
            });
  group_begin_ = coins_.size();
}

}  // namespace cdb::coin_log
