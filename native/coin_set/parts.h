// Look-ups in parts, at the same time.
#pragma once

#include "common/beside.h"
#include "layouts/layout.h"

#include <algorithm>
#include <future>

namespace cdb::coin_set {

using layouts::Asked;

// How many parts so many look-ups come in.
inline size_t parts_for(size_t n_entries, size_t most) {
  constexpr size_t kPartEntries = 125;  // from so many on, a thread pays
  return std::clamp(n_entries / kPartEntries, size_t{1}, most);
}

// One of n parts of about the same size, in the order of names.
inline std::vector<Asked> sorted_part(const std::vector<Asked> &all, size_t part, size_t n) {
  std::vector<Asked> sorted(all.data() + all.size() * part / n,
                            all.data() + all.size() * (part + 1) / n);
  std::sort(sorted.begin(), sorted.end(),
            [](const Asked &a, const Asked &b) { return compare_names(a.name, b.name) < 0; });
  return sorted;
}

// Runs part(0) … part(n - 1), at the same time where there are threads for it, and throws the first
// failure.
template <typename Part>
void run_parts(size_t n, Part part) {
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < n; ++i) others.push_back(beside([=] { part(i); }));
  part(0);
  for (std::future<void> &other : others) other.get();
}

}  // namespace cdb::coin_set
