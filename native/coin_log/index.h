// Which row may have a name: the memtable, and the runs behind it.
//
// A row found here is a candidate: another name may share its bits, or a rewind may have taken the
// row and another coin have it now. Its coin must be held against the name.
#pragma once

#include "memtable.h"
#include "run.h"

namespace coin_log {

class Index {
 public:
  explicit Index(const NameBits &bits) : bits_(bits) {}

  const NameBits &bits() const { return bits_; }

  // Enter the rows from first_row on under n names. Returns which of the names, by their number,
  // share their bits with one that the memtable had before.
  std::vector<uint32_t> insert(const uint8_t *names, size_t n, uint32_t first_row);
  void take_back(const uint8_t *names, size_t n, uint32_t first_row);

  // The newest candidate of each of n names, or kNoRow.
  void find(const uint8_t *names, size_t n, uint32_t *rows) const;
  // The same, without the memtable.
  void find_in_runs(const uint8_t *names, size_t n, uint32_t *rows) const;
  // All candidates.
  std::vector<uint32_t> find_all(const uint8_t *name) const;

  // Whether the index cannot tell two names apart.
  bool looks_the_same(const uint8_t *name, const uint8_t *other) const {
    return bits_.of(name) == bits_.of(other);
  }

  const Memtable &memtable() const { return memtable_; }
  const std::vector<std::unique_ptr<Run>> &runs() const { return runs_; }
  std::vector<RunName> run_names() const;

  void open_run(const Directory &directory, const RunName &name);
  // Make the memtable a durable run, and merge runs of like size. rows: those from here on are gone.
  void seal(const Directory &directory, uint32_t rows, size_t merge_runs, uint64_t *next_number);

 private:
  // Sets the rows that are kNoRow yet.
  void find_group_in_runs(const uint64_t *bits, size_t n, uint32_t *rows) const;
  void write_memtable(const Directory &directory, uint32_t rows, uint64_t *next_number);
  bool merge_once(const Directory &directory, uint32_t rows, size_t merge_runs,
                  uint64_t *next_number);

  NameBits bits_;
  Memtable memtable_;
  std::vector<std::unique_ptr<Run>> runs_;  // the oldest and largest first
};

}  // namespace coin_log
