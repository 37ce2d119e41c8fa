// The newest index entries, in memory: a table probed linearly from where the bits of a name point.
//
// Places rise with the bits, so a sweep meets the entries nearly sorted.
#pragma once

#include "huge_pages.h"
#include "name_bits.h"

namespace coin_log {

class Memtable {
 public:
  struct Slot {
    uint64_t bits;
    uint32_t row;
    uint32_t is_taken;
  };

  Memtable() { grow(kFirstPlaceBits); }

  // Make room for n entries more.
  void reserve(size_t n);
  // Returns whether there was an entry with these bits before.
  bool insert(uint64_t bits, uint32_t row);
  // Remove an entry that is there.
  void take_back(uint64_t bits, uint32_t row);
  // The newest row with these bits, or kNoRow.
  uint32_t find(uint64_t bits) const;
  void find_all(uint64_t bits, std::vector<uint32_t> *rows) const;
  void prefetch_slot(uint64_t bits) const { prefetch(&slots_[home(bits)]); }

  size_t size() const { return size_; }
  void clear();

  // Calls visit(bits, row) for each entry, ascending.
  template <typename Visit>
  void for_each(Visit visit) {
    sort();
    for (const Slot &slot : slots_)
      if (slot.is_taken) visit(slot.bits, slot.row);
  }

 private:
  static constexpr unsigned kFirstPlaceBits = 10;

  void sort();
  size_t home(uint64_t bits) const { return bits >> shift_; }
  void grow(unsigned place_bits);

  std::vector<Slot, HugePages<Slot>> slots_;
  unsigned shift_ = 63;
  size_t size_ = 0;
};

}  // namespace coin_log
