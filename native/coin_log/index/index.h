// Which row may have a name: the memtable, the one before it while that is being sealed, and the
// runs.
//
// A row found here is a candidate: another name may share its bits, or a rewind may have taken the
// row and another coin have it now. Its coin must be held against the name.
#pragma once

#include "coin_log/index/memtable.h"
#include "coin_log/index/tables.h"

#include <atomic>

namespace cdb::coin_log {

class Index {
 public:
  explicit Index(const NameBits &bits) : bits_(bits) {}

  const NameBits &bits() const { return bits_; }

  // Enter the rows from first_row on under n names, up to one that repeats an earlier one of them,
  // which is returned by its number; n where none does. known gets those that were entered, by
  // their numbers, and share their bits with one that the memtable had before.
  size_t insert(const uint8_t *names, size_t n, uint32_t first_row, std::vector<uint32_t> *known);
  void take_back(const uint8_t *names, size_t n, uint32_t first_row);

  // The newest candidate of each of n names, or kNoRow.
  void find(const uint8_t *names, size_t n, uint32_t *rows) const;
  // The same, without the memtable.
  void find_behind(const uint8_t *names, size_t n, uint32_t *rows) const;
  // All candidates.
  std::vector<uint32_t> find_all(const uint8_t *name) const;

  // Whether a run cannot tell two names apart.
  bool looks_the_same(const uint8_t *name, const uint8_t *other) const {
    return in_run(bits_.of(name)) == in_run(bits_.of(other));
  }

  // Places of memtables and runs that were looked at so far.
  uint64_t probes() const {
    return tables_.memtable.probes() + tables_.sealing.probes() + finding_probes_;
  }

  Tables<Memtable> &tables() { return tables_; }
  const Tables<Memtable> &tables() const { return tables_; }

 private:
  // These set the rows that are kNoRow yet.
  void find_group_behind(const uint64_t *bits, size_t n, uint32_t *rows, uint64_t *probes) const;
  void find_group_in_sealing(const uint64_t *bits, size_t n, uint32_t *rows,
                             uint64_t *probes) const;
  void find_group_in_runs(const uint64_t *bits, size_t n, uint32_t *rows, uint64_t *probes) const;

  NameBits bits_;
  Tables<Memtable> tables_;
  // By many threads: added to once a call.
  mutable std::atomic<uint64_t> finding_probes_{0};
};

}  // namespace cdb::coin_log
