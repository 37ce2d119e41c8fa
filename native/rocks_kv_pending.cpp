#include "rocks_kv_pending.h"

#include <algorithm>
#include <array>

namespace {

constexpr unsigned kFewestSlotBits = 10;

size_t end_before(const uint64_t *ends, size_t b) {
  return b == 0 ? 0 : static_cast<size_t>(ends[b - 1]);
}

// The hashes of names that follow on each other, computed ahead with their slots on the way from memory.
class HashesAhead {
 public:
  HashesAhead(const NameTable &table, const uint8_t *names, size_t n)
      : table_(table), names_(names), n_(n) {
    for (size_t i = 0; i < kAhead; ++i) look_ahead(i);
  }
  // Of name i; to be asked for each name in turn.
  uint64_t next(size_t i) {
    const uint64_t hash = ahead_[i % kAhead];
    look_ahead(i + kAhead);
    return hash;
  }

 private:
  static constexpr size_t kAhead = 8;

  void look_ahead(size_t i) {
    if (i < n_) table_.prefetch(ahead_[i % kAhead] = table_.hash(names_ + i * CDB_NAME_BYTES));
  }

  const NameTable &table_;
  const uint8_t *names_;
  size_t n_;
  std::array<uint64_t, kAhead> ahead_{};
};

}  // namespace

size_t NameTable::find(const std::vector<PendingCoin> &coins, const uint8_t *name,
                       uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  const uint32_t tag = tag_of(hash);
  for (size_t slot = home(tag);; slot = (slot + 1) & mask) {
    ++probes_;
    if (slots_[slot].count == 0) return kNone;
    const size_t i = slots_[slot].count - 1;
    if (slots_[slot].tag == tag && compare_names(coins[i].name, name) == 0) return i;
  }
}

void NameTable::add_last(const std::vector<PendingCoin> &coins, uint64_t hash) {
  if (coins.size() * 4 > slots_.size() * 3) grow();
  enter({tag_of(hash), static_cast<uint32_t>(coins.size())});
}

void NameTable::enter(const Slot &slot) {
  const size_t mask = slots_.size() - 1;
  size_t place = home(slot.tag);
  for (++probes_; slots_[place].count != 0; ++probes_) place = (place + 1) & mask;
  slots_[place] = slot;
}

// Slots behind the gap that could not be found past it move up into it.
void NameTable::remove_last(const std::vector<PendingCoin> &coins) {
  const size_t mask = slots_.size() - 1;
  size_t gap = home(tag_of(hash(coins.back().name)));
  for (++probes_; slots_[gap].count != coins.size(); ++probes_) gap = (gap + 1) & mask;
  for (size_t slot = (gap + 1) & mask; slots_[slot].count != 0; slot = (slot + 1) & mask) {
    ++probes_;
    if (((slot - home(slots_[slot].tag)) & mask) < ((slot - gap) & mask)) continue;
    slots_[gap] = slots_[slot];
    gap = slot;
  }
  slots_[gap] = {};
}

void NameTable::clear() {
  shift_ = 32 - kFewestSlotBits;
  slots_.assign(size_t{1} << kFewestSlotBits, {});
}

void NameTable::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  --shift_;
  for (const Slot &slot : old)
    if (slot.count != 0) enter(slot);
}

const PendingCoin *Pending::find(const uint8_t *name) const {
  const size_t i = table_.find(coins_, name, table_.hash(name));
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
  HashesAhead name_hashes(table_, names, n_confirms);
  for (size_t i = 0; i < n_confirms; ++i) {
    const uint8_t *const parent = confirms + i * CDB_CONFIRM_BYTES;
    while (s < n_spends && compare_names(spends + s * CDB_NAME_BYTES, parent) < 0) ++s;
    const bool is_parent_spent =
        s < n_spends && compare_names(spends + s * CDB_NAME_BYTES, parent) == 0;
    const PendingCoin fields{{},   index, static_cast<uint32_t>(i),
                             0,    true,  parents_.may_have(parent, is_parent_spent)};
    if (!confirm(names + i * CDB_NAME_BYTES, name_hashes.next(i), fields)) return false;
  }
  HashesAhead spend_hashes(table_, spends, n_spends);
  for (size_t i = 0; i < n_spends; ++i)
    if (!spend(spends + i * CDB_NAME_BYTES, spend_hashes.next(i), index)) return false;
  return true;
}

// A name that is known already belongs to a pending coin, or to an older one if the block that
// spends it is valid; if that one is not, it comes first and is the one that gets refused.
bool Pending::confirm(const uint8_t *name, uint64_t hash, const PendingCoin &fields) {
  if (table_.find(coins_, name, hash) != NameTable::kNone) return false;
  add_coin(name, hash, fields);
  return true;
}

bool Pending::spend(const uint8_t *name, uint64_t hash, uint32_t index) {
  const size_t i = table_.find(coins_, name, hash);
  if (i == NameTable::kNone) {
    add_coin(name, hash, {{}, 0, 0, index, false, false});
    return true;
  }
  if (coins_[i].spent_index != 0) return false;
  coins_[i].spent_index = index;
  return true;
}

void Pending::add_coin(const uint8_t *name, uint64_t hash, const PendingCoin &fields) {
  coins_.push_back(fields);
  std::memcpy(coins_.back().name, name, CDB_NAME_BYTES);
  table_.add_last(coins_, hash);
}

void Pending::keep(size_t n_blocks, Size size, int64_t newest) {
  for (; coins_.size() > size.coins; coins_.pop_back()) table_.remove_last(coins_);
  parents_.keep_new_early_heads(size.early_heads);
  const PendingBlock last = n_blocks == 0 ? PendingBlock{} : blocks_[n_blocks - 1];
  const size_t spends_kept = last.spend_end * CDB_NAME_BYTES;
  for (size_t at = spends_kept; at < spends_.size(); at += CDB_NAME_BYTES) {
    const uint8_t *const name = spends_.data() + at;
    const size_t i = table_.find(coins_, name, table_.hash(name));
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
  table_.clear();
  parents_.saved();
}
