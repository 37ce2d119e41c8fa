#include "coin_log/index/memtable.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

// There are places behind the last home, so that probing need not begin anew at the first one.
// Should they not do, the table grows.
constexpr size_t places_of(unsigned place_bits) {
  const size_t homes = size_t{1} << place_bits;
  return homes + homes / 4;
}

constexpr size_t most_entries(unsigned place_bits) { return (size_t{3} << place_bits) / 4; }

}  // namespace

void Memtable::reserve(size_t n) {
  unsigned place_bits = 64 - shift_;
  while (size_ + n > most_entries(place_bits)) ++place_bits;
  if (place_bits > 64 - shift_) grow(place_bits);
}

void Memtable::grow(unsigned place_bits) {
  decltype(slots_) old(places_of(place_bits));
  old.swap(slots_);
  shift_ = 64 - place_bits;
  size_ = 0;
  for (const Slot &slot : old)
    if (slot.is_taken()) insert(slot.bits(), slot.row());
}

uint32_t Memtable::insert(uint64_t bits, uint32_t row) {
  uint32_t there = kNoRow;
  lowest_row_ = std::min(lowest_row_, row);
  size_t place = home(bits);
  for (; place < slots_.size() && slots_[place].is_taken(); ++place) {
    if (slots_[place].bits() != bits) continue;
    if (slots_[place].row() >= row) {  // rewound: rows ascend
      slots_[place] = Slot::of(bits, row);
      probes_ += place - home(bits) + 1;
      return there;
    }
    there = slots_[place].row();
  }
  probes_ += place - home(bits) + 1;
  if (place == slots_.size()) {
    grow(64 - shift_ + 1);
    return insert(bits, row);
  }
  slots_[place] = Slot::of(bits, row);
  ++size_;
  return there;
}

// Entries behind the gap that could not be found past it move up into it.
void Memtable::take_back(uint64_t bits, uint32_t row) {
  size_t gap = home(bits);
  while (slots_[gap].bits() != bits || slots_[gap].row() != row) ++gap;
  size_t place = gap + 1;
  for (; place < slots_.size() && slots_[place].is_taken(); ++place) {
    if (home(slots_[place].bits()) > gap) continue;
    slots_[gap] = slots_[place];
    gap = place;
  }
  probes_ += place - home(bits);
  slots_[gap] = {};
  --size_;
}

uint32_t Memtable::find(uint64_t bits, uint64_t *probes) const {
  uint32_t row = kNoRow;
  size_t place = home(bits);
  for (; place < slots_.size() && slots_[place].is_taken(); ++place)
    if (slots_[place].bits() == bits) row = slots_[place].row();
  *probes += place - home(bits) + 1;
  return row;
}

void Memtable::find_all(uint64_t bits, std::vector<uint32_t> *rows, uint64_t *probes) const {
  size_t place = home(bits);
  for (; place < slots_.size() && slots_[place].is_taken(); ++place)
    if (slots_[place].bits() == bits) rows->push_back(slots_[place].row());
  *probes += place - home(bits) + 1;
}

size_t Memtable::next_cluster(size_t place, std::vector<Slot> *cluster) const {
  while (place < slots_.size() && !slots_[place].is_taken()) ++place;
  cluster->clear();
  for (; place < slots_.size() && slots_[place].is_taken(); ++place)
    cluster->push_back(slots_[place]);
  std::sort(cluster->begin(), cluster->end());
  return place;
}

void Memtable::clear() {
  if (size_ > 0) std::fill(slots_.begin(), slots_.end(), Slot{});
  size_ = 0;
  lowest_row_ = kNoRow;
}

}  // namespace cdb::coin_log
