// Names without those that are there twice.
#pragma once

#include "bytes.h"

#include <algorithm>

namespace cdb {

// Sorted, each once.
inline Bytes distinct_names(const uint8_t *names, size_t n) {
  std::vector<const uint8_t *> places(n);
  for (size_t i = 0; i < n; ++i) places[i] = names + i * kNameBytes;
  std::sort(places.begin(), places.end(),
            [](const uint8_t *a, const uint8_t *b) { return compare_names(a, b) < 0; });
  places.erase(std::unique(places.begin(), places.end(), is_same_name), places.end());
  Bytes each_once(places.size() * kNameBytes);
  for (size_t i = 0; i < places.size(); ++i)
    std::memcpy(&each_once[i * kNameBytes], places[i], kNameBytes);
  return each_once;
}

}  // namespace cdb
