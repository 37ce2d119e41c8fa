// Lookups. The index gives candidates; each is held against its record, so that what is found is
// right. Memory is fetched for a group of names at a time, one step after the other.
#include "coin_name.h"
#include "failure.h"
#include "store.h"

#include <algorithm>

namespace coin_log {

size_t Store::block_of(uint32_t row) const {
  const size_t hint = row / 64;
  const auto first = blocks_.begin() + block_hints_[hint];
  const auto last = hint + 1 < block_hints_.size() ? blocks_.begin() + block_hints_[hint + 1] + 1
                                                   : blocks_.end();
  const auto above = std::upper_bound(
      first, last, row, [](uint32_t wanted, const BlockLine &line) { return wanted < line.first_row; });
  return static_cast<size_t>(above - blocks_.begin()) - 1;
}

void Store::fetch(const Hit *hits, size_t n, CoinView *views) const {
  const uint8_t *coins[kFetch];
  for (size_t i = 0; i < n; ++i) prefetch(&block_hints_[hits[i].row / 64]);
  for (size_t i = 0; i < n; ++i) prefetch(&blocks_[block_hints_[hits[i].row / 64]]);
  for (size_t i = 0; i < n; ++i) {
    const size_t block = block_of(hits[i].row);
    const BlockLine &line = blocks_[block];
    const size_t place = hits[i].row - line.first_row;
    coins[i] = log_.at(line.offset) + line.geometry.coins_at() + place * line.geometry.coin_bytes();
    views[i].row = hits[i].row;
    views[i].block = static_cast<uint32_t>(block);
    prefetch(coins[i]);
    prefetch(coins[i] + line.geometry.coin_bytes() - 1);
  }
  for (size_t i = 0; i < n; ++i) {
    const BlockLine &line = blocks_[views[i].block];
    const Geometry &geometry = line.geometry;
    const uint8_t *const amount = coins[i] + kNameBytes;
    const uint64_t parent = load_narrow(amount + geometry.amount_bytes, geometry.parent_bytes);
    if (parent >= geometry.parents())
      throw corrupt(kLogFile, "damaged in block " + std::to_string(line.index));
    views[i].puzzle_hash = coins[i];
    views[i].amount = load_narrow(amount, geometry.amount_bytes);
    views[i].parent = log_.at(line.offset) + kHeaderBytes + kNameBytes * parent;
    views[i].parent_is_explicit = parent >= geometry.spends;
    prefetch(views[i].parent);
    prefetch(views[i].parent + kNameBytes - 1);
  }
}

bool Store::has_name(const CoinView &view, const uint8_t *name) const {
  uint8_t computed[kNameBytes];
  coin_name(view.parent, view.puzzle_hash, view.amount, computed);
  if (std::memcmp(computed, name, kNameBytes) == 0) return true;
  // Another coin, which looks the same to the index, or whose parent does; or one that has a rewound
  // coin's row; or this very coin, and damaged.
  const bool is_in_place =
      index_.looks_the_same(computed, name) ||
      (view.parent_is_explicit && index_.looks_the_same(view.parent, name));
  if (!is_in_place) check_record(view.block);
  return false;
}

void Store::check_record(size_t block) const {
  const uint64_t offset = blocks_[block].offset;
  if (!is_intact(log_.at(offset), offset_of(block + 1) - offset, offset))
    throw corrupt(kLogFile, "damaged in block " + std::to_string(blocks_[block].index) +
                                ", at byte " + std::to_string(offset));
}

void Store::lookup(const uint8_t *names, size_t n, cdb_coin_log_info *infos,
                   uint8_t *found) const {
  std::memset(found, 0, n);
  std::vector<Hit> hits;
  index_.find(names, n, &hits);
  hits.erase(std::remove_if(hits.begin(), hits.end(), [this](Hit hit) { return hit.row >= rows_; }),
             hits.end());
  CoinView views[kFetch];
  for (size_t done = 0; done < hits.size(); done += kFetch) {
    const size_t group = std::min(kFetch, hits.size() - done);
    for (size_t i = 0; i < group; ++i) prefetch(&spent_[hits[done + i].row]);
    fetch(&hits[done], group, views);
    for (size_t i = 0; i < group; ++i) {
      const CoinView &view = views[i];
      const uint32_t query = hits[done + i].query;
      const uint8_t *const name = names + query * kNameBytes;
      // An entry of its parent, not of the coin itself.
      if (view.parent_is_explicit && std::memcmp(view.parent, name, kNameBytes) == 0) continue;
      if (found[query] != 0 || !has_name(view, name)) continue;
      cdb_coin_log_info &info = infos[query];
      std::memcpy(info.parent, view.parent, kNameBytes);
      std::memcpy(info.puzzle_hash, view.puzzle_hash, kNameBytes);
      info.amount = view.amount;
      info.confirmed_index = blocks_[view.block].index;
      info.spent_index = spent_[view.row];
      found[query] = 1;
    }
  }
}

}  // namespace coin_log
