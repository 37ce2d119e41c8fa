// Which rows may have a name: the memtable, and the runs behind it.
//
// A row is entered under the bits of its coin's name. The first coin of each explicit parent in a
// block is entered under that parent's bits also: so whoever looks up a coin that is about to be
// spent sees whether it had a child before, which is when a child may be a duplicate.
//
// An index knows no rewinds: it may hold rows that are gone, or that other coins have now.
#pragma once

#include "memtable.h"
#include "run.h"

namespace coin_log {

class Index {
 public:
  explicit Index(const NameBits &bits) : bits_(bits), memtable_(bits) {}

  // What insert() takes.
  struct Placed {
    Slot slot;
    uint32_t row;
  };
  Placed placed(const uint8_t *name, uint32_t row) const { return {bits_.slot(name), row}; }
  void insert(const std::vector<Placed> &entries);

  // The candidates for each of n names, in the order of the names. n < 2^32.
  void find(const uint8_t *names, size_t n, std::vector<Hit> *hits) const;

  // Whether the index cannot tell two names apart.
  bool looks_the_same(const uint8_t *name, const uint8_t *other) const {
    const Slot a = bits_.slot(name), b = bits_.slot(other);
    return a.bucket == b.bucket && a.key == b.key;
  }

  // Drop the rows from first_row on from the memtable. All others must have been inserted before.
  void cut(uint32_t first_row) { memtable_.cut(first_row); }
  const Memtable &memtable() const { return memtable_; }
  const std::vector<std::unique_ptr<Run>> &runs() const { return runs_; }
  std::vector<RunName> run_names() const;

  void open_run(const Directory &directory, const RunName &name);
  // Make the memtable a durable run, and merge runs of like size.
  void seal(const Directory &directory, uint32_t rows, size_t merge_runs, uint64_t *next_number);

 private:
  void find_group(const Slot *slots, size_t n, uint32_t first_query, std::vector<Hit> *hits) const;
  bool merge_once(const Directory &directory, uint32_t rows, size_t merge_runs,
                  uint64_t *next_number);

  NameBits bits_;
  Memtable memtable_;
  std::vector<std::unique_ptr<Run>> runs_;  // the oldest and largest first
};

}  // namespace coin_log
