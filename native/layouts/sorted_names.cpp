#include "layouts/sorted_names.h"

#include <array>
#include <utility>

namespace cdb::coin_set {

namespace {

constexpr unsigned kDigitBits = 11;
constexpr uint32_t kDigitValues = 1u << kDigitBits;

static_assert(kSortedBits % kDigitBits == 0);

}  // namespace

// By digits, from the last one of them to the first.
void sort_by_lead(std::vector<NameAt> *all) {
  std::vector<NameAt> sorted(*all);
  for (unsigned shift = 32 - kSortedBits; shift < 32; shift += kDigitBits) {
    const auto digit = [shift](const NameAt &one) {
      return one.head >> shift & (kDigitValues - 1);
    };
    std::array<size_t, kDigitValues> next{};
    for (const NameAt &one : *all) ++next[digit(one)];
    size_t start = 0;
    for (size_t &place : next) start += std::exchange(place, start);
    for (const NameAt &one : *all) sorted[next[digit(one)]++] = one;
    all->swap(sorted);
  }
}

}  // namespace cdb::coin_set
