// The newest index entries, in memory: a table probed linearly from where the bits of a name point.
//
// Places rise with the bits, so a sweep meets the entries nearly sorted.
#pragma once

#include "common/huge_pages.h"
#include "common/name_bits.h"

namespace cdb::coin_log {

class Memtable {
 public:
  // 12 bytes: the smaller the table, the fewer reads of it miss a cache.
  struct Slot {
    uint32_t high_bits, low_bits;
    uint32_t rows;  // up to this one, itself included; 0 in a slot that is free

    static Slot of(uint64_t bits, uint32_t row) {
      return {static_cast<uint32_t>(bits >> 32), static_cast<uint32_t>(bits), row + 1};
    }
    bool is_taken() const { return rows != 0; }
    uint64_t bits() const { return uint64_t{high_bits} << 32 | low_bits; }
    uint32_t row() const { return rows - 1; }
    bool operator<(const Slot &other) const {
      const uint64_t mine = in_run(bits()), others = in_run(other.bits());
      return mine != others ? mine < others : rows < other.rows;
    }
  };

  Memtable() { grow(kFirstPlaceBits); }

  // Make room for n entries more.
  void reserve(size_t n);
  // Returns the row of the newest entry with these bits that there was before, or kNoRow. An entry
  // of a rewound row that these bits had makes way, or coins that come again after each rewind
  // would crowd.
  uint32_t insert(uint64_t bits, uint32_t row);
  // Remove an entry that is there.
  void take_back(uint64_t bits, uint32_t row);
  // The newest row with these bits, or kNoRow. probes: the places that are looked at are added.
  uint32_t find(uint64_t bits, uint64_t *probes) const;
  void find_all(uint64_t bits, std::vector<uint32_t> *rows, uint64_t *probes) const;
  void prefetch_slot(uint64_t bits) const { prefetch(&slots_[home(bits)]); }

  size_t size() const { return size_; }
  void clear();
  // Places that changes have looked at so far.
  uint64_t probes() const { return probes_; }

  // No row that was entered is lower; kNoRow without one.
  uint32_t lowest_row() const { return lowest_row_; }

  // Calls visit(bits, row) for each entry, ascending as in a run.
  template <typename Visit>
  void for_each(Visit visit) const {
    std::vector<Slot> cluster;
    for (size_t place = 0; place < slots_.size();) {
      place = next_cluster(place, &cluster);
      for (const Slot &slot : cluster) visit(slot.bits(), slot.row());
    }
  }

 private:
  static constexpr unsigned kFirstPlaceBits = 10;

  // Copy and sort the next cluster: entries without a gap between them. No entry has its home in
  // another cluster than its own. Returns where it ends.
  size_t next_cluster(size_t place, std::vector<Slot> *cluster) const;
  size_t home(uint64_t bits) const { return bits >> shift_; }
  void grow(unsigned place_bits);

  std::vector<Slot, HugePages<Slot>> slots_;
  unsigned shift_ = 63;
  size_t size_ = 0;
  uint32_t lowest_row_ = kNoRow;
  uint64_t probes_ = 0;
};

}  // namespace cdb::coin_log
