// Sealing: a memtable becomes a run, and runs of like size become one.
//
// What it reads does not change, and the files that it makes are nobody's yet: it can go on beside
// lookups and inserts.
#pragma once

#include "coin_log/index/tables.h"

#include <algorithm>

namespace cdb::coin_log {

class Sealing {
 public:
  // runs: of the index. rows: those from here on are gone. next_number: of the next run.
  Sealing(const Directory &directory, IndexOf index, const Runs &runs, uint32_t rows,
          uint64_t next_number)
      : directory_(directory), index_(index), runs_(runs), rows_(rows), next_number_(next_number) {}

  // Make a memtable a durable run.
  template <typename Memtable>
  void add(const Memtable &memtable) {
    if (memtable.size() == 0) return;
    const RunShape shape = shape_from(memtable.lowest_row());
    RunBuilder builder(directory_, next_number_++, index_, shape);
    memtable.for_each([&](uint64_t bits, uint32_t row) {
      if (row < rows_) builder.add(shape.bucket(bits), shape.entry(bits, row));
    });
    open(builder.finish());
  }
  // Make merge_runs runs of one size class one of the next, as long as there are so many: each
  // entry is written once a class.
  void merge(size_t merge_runs) {
    while (merge_once(merge_runs)) {
    }
  }

  const Runs &runs() const { return runs_; }
  // Those that others have taken the place of: some of the given ones, and of those made here.
  const Runs &replaced() const { return replaced_; }
  uint64_t next_number() const { return next_number_; }

 private:
  bool merge_once(size_t merge_runs);
  RunName merged(const Runs &runs);
  // Of a run without gaps: each row from the first one on has an entry in it.
  RunShape shape_from(uint32_t first_row) const {
    return {first_row, std::max(first_row, std::max(rows_, 1U) - 1)};
  }
  void open(const RunName &name) { runs_.push_back(std::make_shared<const Run>(directory_, name)); }

  Directory directory_;
  IndexOf index_;
  Runs runs_, replaced_;
  uint32_t rows_;
  uint64_t next_number_;
};

}  // namespace cdb::coin_log
