// Many names in order, without moving what they are the names of.
#pragma once

#include "common/bytes.h"

#include <algorithm>
#include <vector>

namespace cdb::coin_set {

// A name by its leading bytes, and which one it is.
struct NameAt {
  NameAt(const uint8_t *name, uint32_t place) : head(load_big_endian<uint32_t>(name)), at(place) {}
  NameAt(uint32_t leading, uint32_t place) : head(leading), at(place) {}
  uint32_t head;
  uint32_t at;
};

constexpr unsigned kSortedBits = 22;

// Sorts by the leading kSortedBits of heads.
void sort_by_lead(std::vector<NameAt> *all);

inline bool is_same_lead(const NameAt &a, const NameAt &b) {
  return (a.head ^ b.head) >> (32 - kSortedBits) == 0;
}

// Names are hashes: once their leading bits are in order, hardly two are left to be compared.
// is_before(at, at): whether the one comes before the other.
template <typename IsBefore>
void sort_in_order(std::vector<NameAt> *all, IsBefore is_before) {
  sort_by_lead(all);
  for (auto first = all->begin(); first != all->end();) {
    auto last = first + 1;
    while (last != all->end() && is_same_lead(*last, *first)) ++last;
    if (last - first > 1)
      std::sort(first, last,
                [&is_before](const NameAt &a, const NameAt &b) { return is_before(a.at, b.at); });
    first = last;
  }
}

// name_of(at): the name.
template <typename NameOf>
void sort_by_name(std::vector<NameAt> *all, NameOf name_of) {
  sort_in_order(all, [&name_of](uint32_t a, uint32_t b) {
    return compare_names(name_of(a), name_of(b)) < 0;
  });
}

}  // namespace cdb::coin_set
