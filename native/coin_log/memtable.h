// The newest index entries, in memory: a table probed linearly from where the bits of a name point.
//
// Places rise with the bits, so a sweep meets the entries nearly sorted.
#pragma once

#include "name_bits.h"

namespace coin_log {

class Memtable {
 public:
  struct Slot {
    uint64_t bits;
    uint32_t row;
    uint32_t is_taken;
  };

  Memtable();
  ~Memtable();
  Memtable(const Memtable &) = delete;
  Memtable &operator=(const Memtable &) = delete;

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
  void for_each(Visit visit) const {
    std::vector<Slot> cluster;
    for (size_t place = 0; place < places_; ++place) {
      if (slots_[place].is_taken) cluster.push_back(slots_[place]);
      if (!slots_[place].is_taken || place + 1 == places_) visit_sorted(&cluster, visit);
    }
  }

 private:
  // An entry's cluster has no gap, so no other cluster holds bits between those of this one.
  template <typename Visit>
  static void visit_sorted(std::vector<Slot> *cluster, Visit visit) {
    sort(cluster);
    for (const Slot &slot : *cluster) visit(slot.bits, slot.row);
    cluster->clear();
  }

  static void sort(std::vector<Slot> *slots);
  size_t home(uint64_t bits) const { return bits >> shift_; }
  void grow(unsigned place_bits);

  Slot *slots_ = nullptr;
  size_t places_ = 0;
  unsigned shift_ = 63;
  size_t size_ = 0;
};

}  // namespace coin_log
