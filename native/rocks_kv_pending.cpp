#include "rocks_kv_pending.h"

#include <algorithm>
#include <random>

namespace {

constexpr size_t kFewestSlots = 1024;
constexpr size_t kPrefetched = 8;  // names

uint64_t word_of(const uint8_t *name, size_t i) {
  uint64_t word;
  std::memcpy(&word, name + 8 * i, sizeof word);
  return word;
}

size_t end_before(const uint64_t *ends, size_t b) {
  return b == 0 ? 0 : static_cast<size_t>(ends[b - 1]);
}

}  // namespace

NameTable::NameTable() {
  std::random_device random;
  for (uint64_t &key : keys_) key = (uint64_t{random()} << 32 | random()) | 1;
  rebuild({});
}

size_t NameTable::slot_of(const uint8_t *name) const {
  uint64_t hash = 0;
  for (size_t i = 0; i < keys_.size(); ++i) hash += word_of(name, i) * keys_[i];
  hash ^= hash >> 32;  // the product's low bits depend only on the name's
  return static_cast<size_t>((hash * keys_[0]) >> shift_);
}

size_t NameTable::find(const std::vector<PendingCoin> &coins, const uint8_t *name) const {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = slot_of(name); slots_[slot] != 0; slot = (slot + 1) & mask) {
    const size_t i = slots_[slot] - 1;
    if (compare_names(coins[i].name, name) == 0) return i;
  }
  return kNone;
}

void NameTable::add_last(const std::vector<PendingCoin> &coins) {
  if (coins.size() * 2 > slots_.size())
    rebuild(coins);
  else
    enter(coins, coins.size() - 1);
}

void NameTable::enter(const std::vector<PendingCoin> &coins, size_t i) {
  const size_t mask = slots_.size() - 1;
  size_t slot = slot_of(coins[i].name);
  while (slots_[slot] != 0) slot = (slot + 1) & mask;
  slots_[slot] = static_cast<uint32_t>(i + 1);
}

// In the order of entering: no name that is left was moved on by this one.
void NameTable::remove_last(const std::vector<PendingCoin> &coins) {
  const size_t mask = slots_.size() - 1;
  size_t slot = slot_of(coins.back().name);
  while (slots_[slot] != coins.size()) slot = (slot + 1) & mask;
  slots_[slot] = 0;
}

void NameTable::rebuild(const std::vector<PendingCoin> &coins) {
  size_t n_slots = kFewestSlots;
  unsigned bits = 10;
  for (; n_slots < coins.size() * 4; n_slots *= 2) ++bits;
  shift_ = 64 - bits;
  slots_.assign(n_slots, 0);
  for (size_t i = 0; i < coins.size(); ++i) enter(coins, i);
}

const PendingCoin *Pending::find(const uint8_t *name) const {
  const size_t i = table_.find(coins_, name);
  return i == NameTable::kNone ? nullptr : &coins_[i];
}

size_t Pending::block_entries() const {
  return (spends_.size() / CDB_NAME_BYTES) + (confirms_.size() / CDB_CONFIRM_BYTES);
}

cdb_kv_block Pending::block(size_t i) const {
  const PendingBlock before = i == 0 ? PendingBlock{} : blocks_[i - 1];
  const PendingBlock &block = blocks_[i];
  return {block.index,
          block.timestamp,
          block.spend_end - before.spend_end,
          block.confirm_end - before.confirm_end,
          spends_.data() + before.spend_end * CDB_NAME_BYTES,
          confirms_.data() + before.confirm_end * CDB_CONFIRM_BYTES};
}

const cdb_kv_block *Pending::find_block(uint32_t index, cdb_kv_block *block) const {
  const auto found = std::lower_bound(
      blocks_.begin(), blocks_.end(), index,
      [](const PendingBlock &one, uint32_t sought) { return one.index < sought; });
  if (found == blocks_.end() || found->index != index) return nullptr;
  *block = this->block(static_cast<size_t>(found - blocks_.begin()));
  return block;
}

bool Pending::add(const cdb_kv_blocks &chunk, size_t b) {
  const size_t first_spend = end_before(chunk.spend_ends, b);
  const size_t first_confirm = end_before(chunk.confirm_ends, b);
  const size_t n_spends = static_cast<size_t>(chunk.spend_ends[b]) - first_spend;
  const size_t n_confirms = static_cast<size_t>(chunk.confirm_ends[b]) - first_confirm;
  const uint8_t *spends = chunk.spends + first_spend * CDB_NAME_BYTES;
  const uint8_t *confirms = chunk.confirms + first_confirm * CDB_CONFIRM_BYTES;
  const uint8_t *names = chunk.names + first_confirm * CDB_NAME_BYTES;
  const auto index = static_cast<uint32_t>(chunk.indices[b]);
  spends_.insert(spends_.end(), spends, spends + n_spends * CDB_NAME_BYTES);
  confirms_.insert(confirms_.end(), confirms, confirms + n_confirms * CDB_CONFIRM_BYTES);
  blocks_.push_back({index, chunk.timestamps[b], spends_.size() / CDB_NAME_BYTES,
                     confirms_.size() / CDB_CONFIRM_BYTES});
  if (index == 0 && n_spends != 0) return false;
  // Both are sorted. Where they are not, a parent's spend is overlooked and a lookup made in vain.
  size_t s = 0;
  for (size_t i = 0; i < n_confirms; ++i) {
    if (i + kPrefetched < n_confirms) table_.prefetch(names + (i + kPrefetched) * CDB_NAME_BYTES);
    const uint8_t *const parent = confirms + i * CDB_CONFIRM_BYTES;
    while (s < n_spends && compare_names(spends + s * CDB_NAME_BYTES, parent) < 0) ++s;
    const bool is_parent_spent =
        s < n_spends && compare_names(spends + s * CDB_NAME_BYTES, parent) == 0;
    const bool may_exist = parents_.may_have(parent, is_parent_spent);
    if (!confirm(names + i * CDB_NAME_BYTES, index, static_cast<uint32_t>(i), may_exist))
      return false;
  }
  for (size_t i = 0; i < n_spends; ++i) {
    if (i + kPrefetched < n_spends) table_.prefetch(spends + (i + kPrefetched) * CDB_NAME_BYTES);
    if (!spend(spends + i * CDB_NAME_BYTES, index)) return false;
  }
  return true;
}

// A name that is known already belongs to a pending coin, or to an older one if the block that
// spends it is valid; if that one is not, it comes first and is the one that gets refused.
bool Pending::confirm(const uint8_t *name, uint32_t index, uint32_t position, bool may_exist) {
  if (table_.find(coins_, name) != NameTable::kNone) return false;
  PendingCoin coin{{}, index, position, 0, true, may_exist};
  std::memcpy(coin.name, name, CDB_NAME_BYTES);
  coins_.push_back(coin);
  table_.add_last(coins_);
  return true;
}

bool Pending::spend(const uint8_t *name, uint32_t index) {
  const size_t i = table_.find(coins_, name);
  if (i != NameTable::kNone) {
    if (coins_[i].spent_index != 0) return false;
    coins_[i].spent_index = index;
    return true;
  }
  PendingCoin coin{{}, 0, 0, index, false, false};
  std::memcpy(coin.name, name, CDB_NAME_BYTES);
  coins_.push_back(coin);
  table_.add_last(coins_);
  return true;
}

void Pending::keep(size_t n_blocks, size_t n_coins, int64_t newest) {
  for (; coins_.size() > n_coins; coins_.pop_back()) table_.remove_last(coins_);
  const PendingBlock last = n_blocks == 0 ? PendingBlock{} : blocks_[n_blocks - 1];
  const size_t spends_kept = last.spend_end * CDB_NAME_BYTES;
  for (size_t at = spends_kept; at < spends_.size(); at += CDB_NAME_BYTES) {
    const size_t i = table_.find(coins_, spends_.data() + at);
    if (i != NameTable::kNone && coins_[i].spent_index > newest) coins_[i].spent_index = 0;
  }
  blocks_.resize(n_blocks);
  spends_.resize(spends_kept);
  confirms_.resize(last.confirm_end * CDB_CONFIRM_BYTES);
}

void Pending::drop_committed_blocks() {
  blocks_.clear();
  spends_.clear();
  confirms_.clear();
}

void Pending::drop_indexed_coins() {
  coins_.clear();
  table_.rebuild(coins_);
  parents_.saved();
}
