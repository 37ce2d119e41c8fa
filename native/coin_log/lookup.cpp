// Lookups. The index gives candidates; each is held against its record, so that what is found is
// right. Memory is fetched for a group of names at a time, one step after the other.
#include "common/coin_name.h"
#include "failure.h"
#include "store.h"

#include <algorithm>

namespace cdb::coin_log {

size_t Store::block_of(uint32_t row) const {
  const size_t hint = row / 64;
  const auto first = blocks_.begin() + block_hints_[hint];
  const auto last =
      hint + 1 < block_hints_.size() ? blocks_.begin() + block_hints_[hint + 1] + 1 : blocks_.end();
  const auto above = std::upper_bound(first, last, row, [](uint32_t wanted, const BlockLine &line) {
    return wanted < line.first_row;
  });
  return static_cast<size_t>(above - blocks_.begin()) - 1;
}

void Store::fetch(const uint32_t *rows, size_t n, CoinView *views, bool in_order) const {
  const uint8_t *coins[kFetch] = {}, *parents[kFetch] = {};
  for (size_t i = 0; i < n; ++i) prefetch(&block_hints_[rows[i] / 64]);
  for (size_t i = 0; i < n; ++i) prefetch(&blocks_[block_hints_[rows[i] / 64]]);
  for (size_t i = 0; i < n; ++i) {
    const size_t block = block_of(rows[i]);
    const BlockLine &line = blocks_[block];
    const size_t place = rows[i] - line.first_row;
    coins[i] = log_.at(line.offset) + line.geometry.coins_at() + place * line.geometry.coin_bytes();
    views[i].row = rows[i];
    views[i].block = static_cast<uint32_t>(block);
    prefetch(coins[i]);
    prefetch(coins[i] + line.geometry.coin_bytes() - 1);
  }
  if (!in_order && cold_reads_.are_likely(n)) cold_reads_.announce(coins, n, kNameBytes + 12);
  for (size_t i = 0; i < n; ++i) {
    const BlockLine &line = blocks_[views[i].block];
    const Geometry &geometry = line.geometry;
    const uint8_t *const amount = coins[i] + kNameBytes;
    const uint64_t parent = load_narrow(amount + geometry.amount_bytes, geometry.parent_bytes);
    if (parent >= geometry.parents())
      throw corrupt(kLogFile, "damaged in block " + std::to_string(line.index));
    views[i].puzzle_hash = coins[i];
    views[i].amount = load_narrow(amount, geometry.amount_bytes);
    views[i].parent = parents[i] = log_.at(line.offset) + kHeaderBytes + kNameBytes * parent;
    prefetch(parents[i]);
    prefetch(parents[i] + kNameBytes - 1);
  }
  if (!in_order && cold_reads_.are_likely(n)) cold_reads_.announce(parents, n, kNameBytes);
}

bool Store::has_name(const CoinView &view, const uint8_t *name) const {
  uint8_t computed[kNameBytes];
  name_coin(view.parent, view.puzzle_hash, view.amount, computed);
  if (is_same_name(computed, name)) {
    check_alive(view.block);
    return true;
  }
  // Another coin, which looks the same to the index; or one that has a rewound coin's row; or this
  // very coin, and damaged.
  if (!index_.looks_the_same(computed, name)) check_record(view.block);
  return false;
}

Failure Store::damaged(size_t block) const {
  return corrupt(kLogFile, "damaged in block " + std::to_string(blocks_[block].index) +
                               ", at byte " + std::to_string(blocks_[block].offset));
}

// The index knows names that were rewound: they must not be found in a record that should be gone.
void Store::check_alive(size_t block) const {
  const uint64_t offset = blocks_[block].offset;
  const bool is_behind_rewind = manifest_.epoch > 0 && offset >= manifest_.rewound_to;
  if (is_behind_rewind && is_dead(read_header(log_.at(offset)), offset)) throw damaged(block);
}

// Once: after a rewind a peer can have many names lead to one large record, in as many calls.
void Store::check_record(size_t block) const {
  if (checked_records_.count(block) != 0) return;
  ++records_checked_;
  const uint64_t offset = blocks_[block].offset;
  const uint8_t *const record = log_.at(offset);
  if (!is_intact(record, offset_of(block + 1) - offset, offset) || !is_current(block, record))
    throw damaged(block);
  checked_records_.insert(block);
}

// The record behind it says which one it follows on, unless it is damaged itself.
bool Store::is_current(size_t block, const uint8_t *record) const {
  const RecordHeader header = read_header(record);
  const uint64_t next = offset_of(block + 1);
  if (header.block_index != blocks_[block].index || blocks_[block].offset + header.length != next)
    return false;
  if (next == log_.end()) return header.checksum == last_checksum_;
  const uint64_t length = offset_of(block + 2) - next;
  return read_header(log_.at(next)).previous_checksum == header.checksum ||
         !is_intact(log_.at(next), length, next);
}

uint32_t Store::find_exactly(const uint8_t *name, uint32_t limit) const {
  for (const uint32_t row : index_.find_all(name)) {
    if (row >= std::min(limit, rows_)) continue;
    CoinView view;
    fetch(&row, 1, &view);
    if (has_name(view, name)) return row;
  }
  return kNoRow;
}

cdb_coin_log_info Store::info_of(const CoinView &view) const {
  cdb_coin_log_info info;
  std::memcpy(info.parent, view.parent, kNameBytes);
  std::memcpy(info.puzzle_hash, view.puzzle_hash, kNameBytes);
  info.amount = view.amount;
  info.confirmed_index = blocks_[view.block].index;
  info.spent_index = spent_[view.row];
  return info;
}

bool Store::lookup_exactly(const uint8_t *name, cdb_coin_log_info *info) const {
  const uint32_t row = find_exactly(name, rows_);
  if (row == kNoRow) return false;
  CoinView view;
  fetch(&row, 1, &view);
  *info = info_of(view);
  return true;
}

void Store::lookup(const uint8_t *names, size_t n, cdb_coin_log_info *infos, uint8_t *found) const {
  uint32_t rows[kFetch];
  size_t queries[kFetch];
  CoinView views[kFetch];
  for (size_t done = 0; done < n; done += kFetch) {
    const size_t group = std::min(kFetch, n - done);
    index_.find(names + done * kNameBytes, group, rows);
    size_t known = 0;
    for (size_t i = 0; i < group; ++i) {
      const size_t query = done + i;
      found[query] = 0;
      if (rows[i] < rows_) {
        prefetch(&spent_[rows[i]]);
        queries[known] = query;
        rows[known++] = rows[i];
      } else if (rows[i] != kNoRow) {
        found[query] = lookup_exactly(names + query * kNameBytes, &infos[query]);
      }
    }
    fetch(rows, known, views);
    for (size_t i = 0; i < known; ++i) {
      const size_t query = queries[i];
      const uint8_t *const name = names + query * kNameBytes;
      found[query] = has_name(views[i], name);
      if (found[query])
        infos[query] = info_of(views[i]);
      else
        found[query] = lookup_exactly(name, &infos[query]);
    }
  }
}

}  // namespace cdb::coin_log
