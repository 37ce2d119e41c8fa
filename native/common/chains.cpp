#include "chains.h"

#include <algorithm>

namespace cdb {

namespace {

constexpr size_t most_keys(unsigned head_bits) { return (size_t{3} << head_bits) / 4; }

// Entries are sorted in parts, by so many of their first bits: of a full memtable, each fits into
// a cache.
constexpr unsigned kPartBits = 10;
size_t part_of(uint64_t bits) { return bits >> (64 - kPartBits); }

constexpr size_t kAhead = 16;

}  // namespace

void Chains::reserve(size_t n) {
  if (entries_.size() + n > entries_.capacity())
    entries_.reserve(std::max(entries_.size() + n, 2 * entries_.capacity()));
  unsigned head_bits = 64 - shift_;
  while (keys_ + n > most_keys(head_bits)) ++head_bits;
  if (head_bits > 64 - shift_) grow(head_bits);
}

void Chains::grow(unsigned head_bits) {
  decltype(heads_) old(size_t{1} << head_bits);
  old.swap(heads_);
  shift_ = 64 - head_bits;
  for (const Head &head : old)
    if (head.entries != 0) heads_[slot_of(newest(head).bits)] = head;
}

size_t Chains::slot_of(uint64_t bits) const {
  const uint32_t low_bits = static_cast<uint32_t>(bits);
  size_t slot = home(bits);
  while (heads_[slot].entries != 0 &&
         (heads_[slot].low_bits != low_bits || newest(heads_[slot]).bits != bits))
    slot = next(slot);
  return slot;
}

void Chains::insert(uint64_t bits, uint32_t place) {
  reserve(1);
  Head &head = heads_[slot_of(bits)];
  if (head.entries == 0) ++keys_;
  entries_.push_back({bits, place, head.entries});
  head = {static_cast<uint32_t>(bits), static_cast<uint32_t>(entries_.size())};
}

void Chains::insert_all(const NameBits &key_bits, const uint8_t *keys, size_t stride, size_t n,
                        uint32_t first_place) {
  uint64_t ahead[kAhead];
  const auto look_ahead = [&](size_t i) {
    if (i < n) prefetch_head(ahead[i % kAhead] = key_bits.of(keys + i * stride));
  };
  for (size_t i = 0; i < kAhead; ++i) look_ahead(i);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = ahead[i % kAhead];
    look_ahead(i + kAhead);
    insert(bits, first_place + static_cast<uint32_t>(i));
  }
}

void Chains::cut(uint32_t first_place) {
  while (!entries_.empty() && entries_.back().place >= first_place) {
    const size_t slot = slot_of(entries_.back().bits);
    heads_[slot].entries = entries_.back().before;
    if (heads_[slot].entries == 0) free_slot(slot);
    entries_.pop_back();
  }
}

// Those behind the gap that could not be found past it move up into it.
void Chains::free_slot(size_t slot) {
  --keys_;
  const size_t mask = heads_.size() - 1;
  size_t gap = slot;
  for (size_t at = next(gap); heads_[at].entries != 0; at = next(at)) {
    const size_t way = (at - home(newest(heads_[at]).bits)) & mask;
    if (way < ((at - gap) & mask)) continue;
    heads_[gap] = heads_[at];
    gap = at;
  }
  heads_[gap] = {};
}

void Chains::find_between(uint64_t bits, uint32_t first, uint32_t end,
                          std::vector<uint32_t> *places, uint64_t *probes) const {
  const ptrdiff_t n_before = static_cast<ptrdiff_t>(places->size());
  ++*probes;
  for (uint32_t entries = heads_[slot_of(bits)].entries; entries != 0; ++*probes) {
    const Entry &entry = entries_[entries - 1];
    if (entry.place < first) break;
    if (entry.place < end) places->push_back(entry.place);
    entries = entry.before;
  }
  std::reverse(places->begin() + n_before, places->end());
}

std::vector<Chains::Item> Chains::sorted() const {
  std::vector<size_t> ends((size_t{1} << kPartBits) + 1);
  for (const Entry &entry : entries_) ++ends[part_of(entry.bits) + 1];
  for (size_t part = 1; part < ends.size(); ++part) ends[part] += ends[part - 1];
  std::vector<Item> items(entries_.size());
  for (const Entry &entry : entries_)
    items[ends[part_of(entry.bits)]++] = {entry.bits, entry.place};
  size_t begin = 0;
  for (size_t part = 0; part + 1 < ends.size(); begin = ends[part++])
    std::sort(items.begin() + static_cast<ptrdiff_t>(begin),
              items.begin() + static_cast<ptrdiff_t>(ends[part]));
  return items;
}

}  // namespace cdb
