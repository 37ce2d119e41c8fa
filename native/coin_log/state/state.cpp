// Look-ups: the index gives candidates; each is held against its record, so that what is found is
// right. Memory is fetched for a group of names at a time, one step after the other.
#include "coin_log/state/state.h"

#include "coin_log/index/cold_reads.h"
#include "common/coin_name.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr size_t kMostCoinBytes = kNameBytes + 12;  // in a record

// Each thread waits for its own reads.
thread_local ColdReads cold_reads;

}  // namespace

State::State(const Directory &directory, bool read_only, const NameBits &bits, bool has_keys)
    : log(directory, read_only), index(bits), keys(bits, has_keys) {}

void State::add_block(const RecordHeader &header, uint64_t offset) {
  add_line({offset, header.block_index, row_count, header.geometry});
  checked_records.resize(blocks.size());
  last_checksum = header.checksum;
}

void State::add_line(const BlockLine &line) {
  const uint32_t block = static_cast<uint32_t>(blocks.size());
  blocks.push_back(line);
  row_count += line.geometry.coins;
  spend_count += line.geometry.spends;
  while (kHintRows * block_hints.size() < row_count) block_hints.push_back(block);
}

void State::cut(size_t n_blocks, std::shared_ptr<const Base> base,
                const std::vector<uint32_t> &spent_rows) {
  const uint64_t offset = offset_of(n_blocks);
  last_checksum = checksum_before(n_blocks);
  spend_count = spends_before(n_blocks);
  row_count = first_row_of(n_blocks);
  if (n_blocks < blocks.based()) adopt(std::move(base), n_blocks, spent_rows);
  blocks.resize(n_blocks);
  spent.resize(row_count);
  block_hints.resize((size_t{row_count} + kHintRows - 1) / kHintRows);
  kinds.cut(n_blocks);
  keys.cut(extent());
  checked_records.resize(n_blocks);
  log.set_end(offset);
}

void State::adopt(std::shared_ptr<const Base> base, size_t n_blocks,
                  const std::vector<uint32_t> &spent_rows) {
  const size_t n_based = base == nullptr ? 0 : base->blocks();
  std::vector<BlockLine> newer;
  for (size_t block = n_based; block < n_blocks; ++block) newer.push_back(blocks[block]);
  spent.adopt(base);
  blocks.adopt(std::move(base), std::move(newer));
  spent.resize(row_count);
  enter_spends(n_based, spent_rows);
}

std::vector<uint32_t> State::spends_of(size_t first, size_t end) const {
  std::vector<std::pair<uint32_t, uint32_t>> spends;  // index and row
  if (first < end) {
    const uint32_t least = blocks.index(first), most = blocks.index(end - 1);
    for (uint32_t row = 0; row < first_row_of(end); ++row)
      if (const uint32_t spender = spent[row]; spender >= least && spender <= most)
        spends.emplace_back(spender, row);
  }
  std::sort(spends.begin(), spends.end());
  std::vector<uint32_t> rows;
  for (const auto &[spender, row] : spends) rows.push_back(row);
  return rows;
}

bool State::enter_spends(size_t first_block, const std::vector<uint32_t> &spent_rows) {
  spent.reserve(spent_rows.size());
  const uint32_t *row = spent_rows.data();
  for (size_t block = first_block; block < blocks.size(); ++block) {
    const BlockLine line = blocks[block];
    for (const uint32_t *end = row + line.geometry.spends; row < end; ++row) {
      if (*row >= spent.size()) return false;
      spent.set(*row, line.index);
    }
  }
  return true;
}

uint64_t State::offset_of(size_t block) const {
  return block < blocks.size() ? blocks[block].offset : log.end();
}

uint64_t State::spends_before(size_t block) const {
  uint64_t spends = spend_count;
  for (size_t at = block; at < blocks.size(); ++at) spends -= blocks[at].geometry.spends;
  return spends;
}

uint64_t State::count_unspent(int64_t height) const {
  const size_t block = blocks_up_to(height);
  return first_row_of(block) - spends_before(block);
}

uint32_t State::first_row_of(size_t block) const {
  return block < blocks.size() ? blocks.first_row(block) : row_count;
}

uint64_t State::checksum_before(size_t block) const {
  if (block == blocks.size()) return last_checksum;
  return block == 0 ? 0 : read_header(log.at(blocks[block - 1].offset)).checksum;
}

std::pair<uint64_t, uint64_t> State::range(int64_t first_index, int64_t last_index) const {
  if (first_index > last_index) return {0, 0};
  const size_t first = first_index < 0 ? 0 : blocks_up_to(first_index - 1);
  return {offset_of(first), offset_of(blocks_up_to(last_index))};
}

size_t State::block_of(uint32_t row) const {
  const size_t hint = row / kHintRows;
  const size_t likely = block_hints[hint];  // of most rows, where blocks are large
  if (likely + 1 == blocks.size() || row < blocks.first_row(likely + 1)) return likely;
  size_t low = likely + 1;
  size_t high = hint + 1 < block_hints.size() ? block_hints[hint + 1] + 1 : blocks.size();
  while (low + 1 < high) {
    const size_t middle = low + (high - low) / 2;
    (row < blocks.first_row(middle) ? high : low) = middle;
  }
  return low;
}

void State::fetch(const uint32_t *rows, size_t n, CoinView *views, bool passing) const {
  const uint8_t *coins[kFetch] = {}, *parents[kFetch] = {};
  BlockLine lines[kFetch];
  size_t rewards[kFetch], n_rewards = 0;
  for (size_t i = 0; i < n; ++i) prefetch(&block_hints[rows[i] / kHintRows]);
  for (size_t i = 0; i < n; ++i) blocks.prefetch_line(block_hints[rows[i] / kHintRows]);
  for (size_t i = 0; i < n; ++i) {
    const size_t block = block_of(rows[i]);
    const BlockLine &line = lines[i] = blocks[block];
    const uint32_t place = rows[i] - line.first_row;
    if (place >= line.geometry.coins) throw damaged(block);
    coins[i] = log.at(line.offset) + line.geometry.coins_at() + place * line.geometry.coin_bytes();
    views[i].row = rows[i];
    views[i].block = static_cast<uint32_t>(block);
  }
  prefetch_all(coins, n, kMostCoinBytes);
  if (!passing && cold_reads.are_likely(n)) cold_reads.announce(coins, n, kMostCoinBytes);
  for (size_t i = 0; i < n; ++i) {
    const BlockLine &line = lines[i];
    const Geometry &geometry = line.geometry;
    const uint8_t *const amount = coins[i] + kNameBytes;
    const uint64_t parent = load_narrow(amount + geometry.amount_bytes, geometry.parent_bytes);
    if (parent >= geometry.parents()) throw damaged(views[i].block);
    views[i].puzzle_hash = coins[i];
    views[i].amount = load_narrow(amount, geometry.amount_bytes);
    views[i].parent = parents[i] = log.at(line.offset) + geometry.parent_at(parent);
    if (parent >= geometry.whole_parents()) rewards[n_rewards++] = i;
  }
  prefetch_all(parents, n, kNameBytes);
  if (!passing && cold_reads.are_likely(n)) cold_reads.announce(parents, n, kNameBytes);
  for (size_t k = 0; k < n_rewards; ++k) compose_parent(parents[rewards[k]], &views[rewards[k]]);
}

void State::compose_parent(const uint8_t *from, CoinView *view) const {
  const BlockLine line = blocks[view->block];
  if (!compose_reward(from, line.geometry, line.index, kinds, view->composed))
    throw damaged(view->block);
  view->parent = view->composed;
}

void State::name_views(const CoinView *views, size_t n, uint8_t *names) {
  CoinFields coins[kNamedAtOnce];
  for (size_t i = 0; i < n; ++i)
    coins[i] = {views[i].parent, views[i].puzzle_hash, views[i].amount};
  name_coins(coins, n, names);
}

bool State::has_name(const CoinView &view, const uint8_t *computed, const uint8_t *name) const {
  if (is_same_name(computed, name)) {
    check_alive(view.block);
    return true;
  }
  // Another coin, which looks the same to the index; or one that has a rewound coin's row; or this
  // very coin, and damaged.
  if (!index.looks_the_same(computed, name)) check_record(view.block);
  return false;
}

Failure State::damaged(size_t block) const {
  return corrupt(kLogFile, "damaged in block " + std::to_string(blocks[block].index))
      .at(blocks[block].offset);
}

// The index knows names that were rewound: they must not be found in a record that should be gone.
void State::check_alive(size_t block) const {
  const uint64_t offset = blocks[block].offset;
  const bool is_behind_rewind = last_rewind.epoch > 0 && offset >= last_rewind.offset;
  if (is_behind_rewind && last_rewind.has_removed(read_header(log.at(offset)), offset))
    throw damaged(block);
}

// Once: after a rewind a peer can have many names lead to one large record, in as many calls.
void State::check_record(size_t block) const {
  if (checked_records.has(block)) return;
  announce_record(block);
  const uint64_t offset = blocks[block].offset;
  const uint8_t *const record = log.at(offset);
  if (!is_intact(record, offset_of(block + 1) - offset, log.seed(offset)) ||
      !is_current(block, record))
    throw damaged(block);
  checked_records.add(block);
}

void State::announce_record(size_t block) const {
  if (!checked_records.has(block)) log.announce(offset_of(block), offset_of(block + 1));
}

// The record behind it says which one it follows on, unless it is damaged itself.
bool State::is_current(size_t block, const uint8_t *record) const {
  const RecordHeader header = read_header(record);
  const uint64_t next = offset_of(block + 1);
  if (header.block_index != blocks[block].index || blocks[block].offset + header.length != next)
    return false;
  if (next == log.end()) return header.checksum == last_checksum;
  const uint64_t length = offset_of(block + 2) - next;
  return read_header(log.at(next)).previous_checksum == header.checksum ||
         !is_intact(log.at(next), length, log.seed(next));
}

bool State::has_newest_record() const {
  return blocks.empty() || read_header(log.at(blocks.back().offset)).checksum == last_checksum;
}

uint32_t State::find_exactly(const uint8_t *name, uint32_t limit) const {
  for (const uint32_t row : index.find_all(name)) {
    if (row >= std::min(limit, row_count)) continue;
    CoinView view;
    fetch(&row, 1, &view);
    uint8_t computed[kNameBytes];
    name_views(&view, 1, computed);
    if (has_name(view, computed, name)) return row;
  }
  return kNoRow;
}

// A spend of a block that is not there yet is none.
uint32_t State::spent_index_of(uint32_t row) const {
  const uint32_t spent_index = spent[row];
  return spent_index <= newest_index() ? spent_index : 0;
}

cdb_coin_info State::info_of(const CoinView &view) const {
  cdb_coin_info info;
  std::memcpy(info.parent, view.parent, kNameBytes);
  std::memcpy(info.puzzle_hash, view.puzzle_hash, kNameBytes);
  info.amount = view.amount;
  info.confirmed_index = blocks.index(view.block);
  info.spent_index = spent_index_of(view.row);
  return info;
}

// Calls found(query, view) for each name that a coin has.
template <typename Found>
void State::visit(const uint8_t *names, size_t n, Found found) const {
  uint32_t rows[kFetch];
  size_t queries[kFetch];
  CoinView views[kFetch];
  uint8_t computed[kNamedAtOnce * kNameBytes];
  const auto visit_exactly = [&](size_t query) {
    const uint32_t row = find_exactly(names + query * kNameBytes, row_count);
    if (row == kNoRow) return;
    CoinView view;
    fetch(&row, 1, &view);
    found(query, view);
  };
  for (size_t done = 0; done < n; done += kFetch) {
    const size_t group = std::min(kFetch, n - done);
    index.find(names + done * kNameBytes, group, rows);
    size_t known = 0;
    for (size_t i = 0; i < group; ++i) {
      if (rows[i] < row_count) {
        spent.prefetch_row(rows[i]);
        queries[known] = done + i;
        rows[known++] = rows[i];
      } else if (rows[i] != kNoRow) {
        visit_exactly(done + i);
      }
    }
    fetch(rows, known, views);
    for (size_t i = 0; i < known; ++i) spent.prefetch_row_further(rows[i]);
    for (size_t i = 0; i < known; ++i) {
      const size_t place = i % kNamedAtOnce;
      if (place == 0) name_views(views + i, std::min(kNamedAtOnce, known - i), computed);
      if (has_name(views[i], computed + place * kNameBytes, names + queries[i] * kNameBytes))
        found(queries[i], views[i]);
      else
        visit_exactly(queries[i]);
    }
  }
}

void State::lookup(const uint8_t *names, size_t n, int64_t height, cdb_coin_info *infos,
                   uint8_t *found) const {
  std::fill_n(found, n, uint8_t{0});
  visit(names, n, [&](size_t query, const CoinView &view) {
    if (int64_t{blocks.index(view.block)} > height) return;
    found[query] = 1;
    infos[query] = info_of(view);
    if (int64_t{infos[query].spent_index} > height) infos[query].spent_index = 0;
  });
}

void State::find_rows(const uint8_t *names, size_t n, uint32_t *rows) const {
  std::fill_n(rows, n, kNoRow);
  visit(names, n, [&](size_t query, const CoinView &view) { rows[query] = view.row; });
}

}  // namespace cdb::coin_log
