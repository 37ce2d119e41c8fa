// Which places may have a key that many share, as Index says it of names: a puzzle hash has the
// rows of its coins, a parent the numbers of the blocks that confirm its children.
//
// A place found here is a candidate, too: what is there must be held against the key.
#pragma once

#include "common/chains.h"
#include "coin_log/index/tables.h"

#include <atomic>

namespace cdb::coin_log {

// A place where a key was found; key: the caller's.
struct Candidate {
  uint32_t place;
  const uint8_t *key;
};

class KeyIndex {
 public:
  explicit KeyIndex(const NameBits &bits) : bits_(bits) {}

  // Enter the places from first_place on under n keys that lie so many bytes apart.
  void insert(const uint8_t *keys, size_t stride, size_t n, uint32_t first_place);
  // Forget the places from this one on, as far as the memtable has them.
  void cut(uint32_t first_place) { tables_.memtable.cut(first_place); }
  // Append the candidates of n keys with first ≤ place < end; those of a run's or memtable's
  // ascend.
  void find_all(const uint8_t *keys, size_t n, uint32_t first, uint32_t end,
                std::vector<Candidate> *candidates) const;

  // Entries that were looked at so far.
  uint64_t probes() const { return probes_; }

  Tables<Chains> &tables() { return tables_; }
  const Tables<Chains> &tables() const { return tables_; }

 private:
  void find_group(const uint8_t *keys, size_t n, uint32_t first, uint32_t end,
                  std::vector<Candidate> *candidates, uint64_t *probes) const;

  NameBits bits_;
  Tables<Chains> tables_;
  // By many threads: added to once a call.
  mutable std::atomic<uint64_t> probes_{0};
};

}  // namespace cdb::coin_log
