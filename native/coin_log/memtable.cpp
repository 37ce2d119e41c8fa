#include "memtable.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>

namespace coin_log {

namespace {

constexpr unsigned kFirstPlaceBits = 10;
// There are places behind the last home, so that probing need not begin anew at the first one. Should
// they not do, the table grows.
constexpr size_t spare_places(size_t homes) { return homes / 4; }
constexpr size_t most_entries(size_t homes) { return homes / 2; }

size_t places_of(unsigned place_bits) {
  const size_t homes = size_t{1} << place_bits;
  return homes + spare_places(homes);
}

}  // namespace

Memtable::Memtable() { grow(kFirstPlaceBits); }

Memtable::~Memtable() { ::munmap(slots_, places_ * sizeof(Slot)); }

void Memtable::reserve(size_t n) {
  unsigned place_bits = 64 - shift_;
  while (size_ + n > most_entries(size_t{1} << place_bits)) ++place_bits;
  if (place_bits > 64 - shift_) grow(place_bits);
}

// In zeroed pages, as large as the system has them: the places that are asked for are all over the
// table, and each would be a miss of the address cache as well.
void Memtable::grow(unsigned place_bits) {
  const size_t places = places_of(place_bits);
  void *const memory = ::mmap(nullptr, places * sizeof(Slot), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  ::madvise(memory, places * sizeof(Slot), MADV_HUGEPAGE);
#endif
  Slot *const old = slots_;
  const size_t old_places = places_;
  slots_ = static_cast<Slot *>(memory);
  places_ = places;
  shift_ = 64 - place_bits;
  size_ = 0;
  for (size_t place = 0; place < old_places; ++place)
    if (old[place].is_taken) insert(old[place].bits, old[place].row);
  if (old != nullptr) ::munmap(old, old_places * sizeof(Slot));
}

bool Memtable::insert(uint64_t bits, uint32_t row) {
  bool is_there = false;
  size_t place = home(bits);
  for (; place < places_ && slots_[place].is_taken; ++place)
    is_there = is_there || slots_[place].bits == bits;
  if (place == places_) {
    grow(64 - shift_ + 1);
    return insert(bits, row);
  }
  slots_[place] = {bits, row, 1};
  ++size_;
  return is_there;
}

// Entries behind the gap that could not be found past it move up into it.
void Memtable::take_back(uint64_t bits, uint32_t row) {
  size_t gap = home(bits);
  while (slots_[gap].bits != bits || slots_[gap].row != row) ++gap;
  for (size_t place = gap + 1; place < places_ && slots_[place].is_taken; ++place) {
    if (home(slots_[place].bits) > gap) continue;
    slots_[gap] = slots_[place];
    gap = place;
  }
  slots_[gap] = {0, 0, 0};
  --size_;
}

uint32_t Memtable::find(uint64_t bits) const {
  uint32_t row = kNoRow;
  for (size_t place = home(bits); place < places_ && slots_[place].is_taken; ++place)
    if (slots_[place].bits == bits) row = slots_[place].row;
  return row;
}

void Memtable::find_all(uint64_t bits, std::vector<uint32_t> *rows) const {
  for (size_t place = home(bits); place < places_ && slots_[place].is_taken; ++place)
    if (slots_[place].bits == bits) rows->push_back(slots_[place].row);
}

void Memtable::sort(std::vector<Slot> *slots) {
  std::sort(slots->begin(), slots->end(), [](const Slot &a, const Slot &b) {
    return a.bits != b.bits ? a.bits < b.bits : a.row < b.row;
  });
}

void Memtable::clear() {
  if (size_ > 0) std::memset(static_cast<void *>(slots_), 0, places_ * sizeof(Slot));
  size_ = 0;
}

}  // namespace coin_log
