// What an index keeps its entries in: a memtable, the one before it while that is being sealed, and
// the runs.
#pragma once

#include "run.h"

namespace cdb::coin_log {

// The oldest and largest first.
using Runs = std::vector<std::shared_ptr<const Run>>;

template <typename Memtable>
struct Tables {
  Memtable memtable;
  Memtable sealing;  // or empty
  Runs runs;

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
