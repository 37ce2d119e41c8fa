// What an index keeps its entries in: a memtable, the one before it while that is being sealed, and
// the runs.
#pragma once

#include "coin_log/index/run.h"

#include <algorithm>

namespace cdb::coin_log {

// The oldest and largest first.
using Runs = std::vector<std::shared_ptr<const Run>>;

// The memory in which runs are going to look for these bits, at most Run::kGroup of them.
inline void prefetch_in(const Runs &runs, const uint64_t *bits, size_t n, ColdReads *cold_reads) {
  for (const auto &run : runs)
    for (size_t i = 0; i < n; ++i) run->prefetch_bucket(bits[i]);
  for (const auto &run : runs)
    for (size_t i = 0; i < n; ++i) run->prefetch_guess(bits[i]);
  if (cold_reads->are_likely(n))
    for (const auto &run : runs) run->announce(bits, n, cold_reads);
}

template <typename Memtable>
struct Tables {
  Memtable memtable;
  Memtable sealing;  // or empty
  Runs runs;

  // Make room in the memtable for n entries more. One that was begun just now is going to grow as
  // large as the one before.
  void reserve(size_t n) {
    memtable.reserve(memtable.size() > 0 ? n : std::max(n, sealing.size()));
  }
  // Begin a new memtable. The one so far changes no more until adopt().
  void set_aside() { std::swap(memtable, sealing); }
  // Have these runs, which hold what was set aside, too. Returns what nobody needs any more.
  struct Replaced {
    Runs runs;
    Memtable memtable;
  };
  Replaced adopt(Runs new_runs) {
    runs.swap(new_runs);
    Replaced replaced{std::move(new_runs), Memtable()};
    std::swap(sealing, replaced.memtable);
    return replaced;
  }
};

}  // namespace cdb::coin_log
