// The newest index entries of keys that many places share, in memory. A place is a row, or a
// block's number.
//
// Entries stand in the order in which they came, which is that of their places: the newest ones go
// first at a rewind. Each names the one before it that has its bits, so that the entries of a busy
// key lie in no other's way. A table probed linearly has the newest of each.
#pragma once

#include "huge_pages.h"
#include "name_bits.h"

#include <vector>

namespace cdb {

class Chains {
 public:
  Chains() { grow(kFirstHeadBits); }

  // Make room for n entries more.
  void reserve(size_t n);
  // place: no lower than any before it.
  void insert(uint64_t bits, uint32_t place);
  // The same for n keys that lie so many bytes apart, with the places from first_place on.
  void insert_all(const NameBits &key_bits, const uint8_t *keys, size_t stride, size_t n,
                  uint32_t first_place);
  // Remove the entries of the places from this one on.
  void cut(uint32_t first_place);
  // Append the places with these bits, first ≤ place < end, ascending. probes: those that are
  // looked at are added.
  void find_between(uint64_t bits, uint32_t first, uint32_t end, std::vector<uint32_t> *places,
                    uint64_t *probes) const;
  void prefetch_head(uint64_t bits) const { prefetch(&heads_[home(bits)]); }

  size_t size() const { return entries_.size(); }
  uint64_t bits(size_t entry) const { return entries_[entry].bits; }
  uint32_t place(size_t entry) const { return entries_[entry].place; }
  uint32_t lowest_row() const { return entries_.empty() ? kNoRow : entries_.front().place; }

  // Calls visit(bits, place) for each entry, ascending as in a run.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Item &item : sorted()) visit(item.bits, item.place);
  }

 private:
  static constexpr unsigned kFirstHeadBits = 6;

  struct Entry {
    uint64_t bits;
    uint32_t place;
    uint32_t before;  // the entry before it with these bits, as in a head
  };
  // The newest entry of a key.
  struct Head {
    uint32_t low_bits;
    uint32_t entries;  // up to this one, itself included; 0 in a slot that is free
  };
  struct Item {
    uint64_t bits;
    uint32_t place;
    bool operator<(const Item &other) const {
      const uint64_t mine = in_run(bits), others = in_run(other.bits);
      return mine != others ? mine < others : place < other.place;
    }
  };

  std::vector<Item> sorted() const;
  size_t home(uint64_t bits) const { return bits >> shift_; }
  size_t next(size_t slot) const { return slot + 1 == heads_.size() ? 0 : slot + 1; }
  const Entry &newest(const Head &head) const { return entries_[head.entries - 1]; }
  // The slot of these bits, or the free one where they belong.
  size_t slot_of(uint64_t bits) const;
  void free_slot(size_t slot);
  void grow(unsigned head_bits);

  std::vector<Entry, HugePages<Entry>> entries_;
  std::vector<Head, HugePages<Head>> heads_;
  unsigned shift_ = 63;
  size_t keys_ = 0;
};

}  // namespace cdb
