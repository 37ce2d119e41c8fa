#include "pending.h"

#include <algorithm>
#include <array>

namespace cdb::coin_set {

namespace {

constexpr unsigned kFewestSlotBits = 10;

// The hashes of names that follow on each other, computed ahead with their slots on the way from
// memory.
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
    if (i < n_) table_.prefetch(ahead_[i % kAhead] = table_.hash(names_ + i * kNameBytes));
  }

  const NameTable &table_;
  const uint8_t *names_;
  size_t n_;
  std::array<uint64_t, kAhead> ahead_{};
};

}  // namespace

size_t NameTable::find(const std::vector<PendingCoin> &coins, const uint8_t *name, uint64_t hash,
                       uint64_t *probes) const {
  const size_t mask = slots_.size() - 1;
  const uint32_t tag = tag_of(hash);
  for (size_t slot = home(tag);; slot = (slot + 1) & mask) {
    ++*probes;
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

const PendingCoin *PendingCoins::find(const uint8_t *name, uint64_t *probes) const {
  const size_t i = table.find(coins, name, table.hash(name), probes);
  return i == NameTable::kNone ? nullptr : &coins[i];
}

// A block adds what it confirms, and the older coins that it spends.
uint32_t PendingCoins::first_from(uint64_t index) const {
  const auto found = std::lower_bound(
      coins.begin(), coins.end(), index, [](const PendingCoin &coin, uint64_t sought) {
        return (coin.is_confirmed ? coin.confirmed_index : coin.spent_index) < sought;
      });
  return static_cast<uint32_t>(found - coins.begin());
}

size_t Pending::block_entries() const {
  return (blocks_->spends.size() / kNameBytes) + (blocks_->confirms.size() / kConfirmBytes);
}

cdb_set_block PendingBlocks::at(size_t i) const {
  const PendingBlock before = i == 0 ? PendingBlock{} : blocks[i - 1];
  const PendingBlock &block = blocks[i];
  return {block.index,
          block.timestamp,
          block.spend_end - before.spend_end,
          block.confirm_end - before.confirm_end,
          spends.data() + before.spend_end * kNameBytes,
          confirms.data() + before.confirm_end * kConfirmBytes};
}

size_t PendingBlocks::first_from(uint64_t index) const {
  const auto found =
      std::lower_bound(blocks.begin(), blocks.end(), index,
                       [](const PendingBlock &one, uint64_t sought) { return one.index < sought; });
  return static_cast<size_t>(found - blocks.begin());
}

const cdb_set_block *Pending::find_block(uint32_t index, cdb_set_block *block) const {
  const size_t found = blocks_->first_from(index);
  if (found == blocks().size() || blocks()[found].index != index) return nullptr;
  *block = this->block(found);
  return block;
}

size_t Pending::add_coins(const Blocks &blocks, size_t block, std::vector<uint32_t> *spent) {
  const size_t first = blocks.confirm_begin(block), first_spend = blocks.spend_begin(block);
  const size_t n_confirms = blocks.confirm_ends[block] - first;
  const size_t n_spends = blocks.spend_ends[block] - first_spend;
  const auto index = static_cast<uint32_t>(blocks.indices[block]);
  if (keeps_confirms_)
    known_->confirms.insert(known_->confirms.end(), blocks.confirm(first),
                            blocks.confirm(first) + n_confirms * kConfirmBytes);
  HashesAhead name_hashes(known_->table, blocks.name(first), n_confirms);
  for (size_t i = 0; i < n_confirms; ++i) {
    const uint64_t hash = name_hashes.next(i);
    if (number_of(blocks.name(first + i), hash) != NameTable::kNone) return i;
    add_coin(blocks.name(first + i), hash, {{}, index, static_cast<uint32_t>(i), 0, true});
  }
  HashesAhead spend_hashes(known_->table, blocks.spend(first_spend), n_spends);
  for (size_t i = 0; i < n_spends; ++i) {
    const uint8_t *const name = blocks.spend(first_spend + i);
    const uint64_t hash = spend_hashes.next(i);
    size_t coin = number_of(name, hash);
    if (coin == NameTable::kNone) {
      coin = known_->coins.size();
      add_coin(name, hash, {{}, 0, 0, index, false});
    }
    spent->push_back(static_cast<uint32_t>(coin));
  }
  resize_confirms(known_->coins.size());
  return n_confirms;
}

bool Pending::spend(uint32_t coin, uint32_t index) {
  uint32_t &spent_index = known_->coins[coin].spent_index;
  if (spent_index != 0 && spent_index != index) return false;
  spent_index = index;
  return true;
}

void Pending::add_coin(const uint8_t *name, uint64_t hash, const PendingCoin &fields) {
  known_->coins.push_back(fields);
  std::memcpy(known_->coins.back().name, name, kNameBytes);
  known_->table.add_last(known_->coins, hash);
}

void Pending::resize_confirms(size_t n_coins) {
  if (keeps_confirms_) known_->confirms.resize(n_coins * kConfirmBytes);
}

void Pending::set_older(const Placed &older) {
  for (size_t i = 0; i < older.coins.size(); ++i) {
    const Place &place = older.coins[i];
    known_->coins[place.tag].confirmed_index = place.index;
    known_->coins[place.tag].position = place.position;
    const Span confirm = older.confirm(i);
    if (confirm.n > 0)
      std::memcpy(known_->confirms.data() + place.tag * kConfirmBytes, confirm.bytes, confirm.n);
  }
}

void Pending::cut_coins(size_t n_coins) {
  for (; known_->coins.size() > n_coins; known_->coins.pop_back())
    known_->table.remove_last(known_->coins);
  resize_confirms(n_coins);
}

void Pending::add_blocks(const GoodBlocks &good, const std::vector<uint32_t> &first_coins) {
  const Blocks &blocks = good.blocks;
  PendingBlocks &to = *blocks_;
  const size_t spends = to.spends.size() / kNameBytes;
  const size_t confirms = to.confirms.size() / kConfirmBytes;
  to.spends.insert(to.spends.end(), blocks.spends, blocks.spend(blocks.spend_begin(good.n)));
  to.confirms.insert(to.confirms.end(), blocks.confirms,
                     blocks.confirm(blocks.confirm_begin(good.n)));
  for (size_t block = 0; block < good.n; ++block)
    to.blocks.push_back({static_cast<uint32_t>(blocks.indices[block]), blocks.timestamps[block],
                         spends + blocks.spend_ends[block], confirms + blocks.confirm_ends[block]});
  if (keys_) keys_->add(good, first_coins);
  rule_probes_ = parents_.probes();
}

void Pending::drop_committed_blocks() {
  if (blocks_.use_count() > 1) blocks_ = std::make_shared<PendingBlocks>();
  blocks_->blocks.clear();
  blocks_->spends.clear();
  blocks_->confirms.clear();
}

void Pending::drop_indexed_coins() {
  if (known_.use_count() > 1) {
    probes_ += known_->table.probes();
    known_ = std::make_shared<PendingCoins>();
  }
  known_->clear();
  known_->table.clear();
  parents_.forget_rows();
  if (keys_) keys_->clear();
}

// Where nothing is in memory readers share what is empty, and would take the branch for theirs.
void Pending::begin_branch() {
  drop_committed_blocks();
  drop_indexed_coins();
}

}  // namespace cdb::coin_set
