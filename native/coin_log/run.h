// A run: index entries in a file that never changes, mapped.
//
//     offset       bytes    content, little endian
//     0            8        checksum of what follows up to the entries, seeded with the run's number
//     8            4        magic "CLI1"
//     12           2        bucket bits B
//     14           2        name bits
//     16           8        count of entries N
//     24           8        checksum of the entries, seeded with the run's number
//     32           4·2^B    count of entries in each bucket
//     32 + 4·2^B   8·N      entries by bucket, ascending: row (4), then key (4)
//
// The checksums are checked once, on opening.
#pragma once

#include "checksum.h"
#include "file.h"
#include "name_bits.h"

namespace coin_log {

struct RunName {
  uint64_t number;
  uint64_t entries;
};

class Run {
 public:
  Run(const Directory &directory, const RunName &name, const NameBits &bits);

  const RunName &name() const { return name_; }
  void find(const Slot &slot, uint32_t query, std::vector<Hit> *hits) const;
  void prefetch_bucket(const Slot &slot) const { prefetch(&starts_[slot.bucket]); }
  void prefetch_guess(const Slot &slot) const;
  const Entry *begin(size_t bucket) const { return entries_ + starts_[bucket]; }
  const Entry *end(size_t bucket) const { return entries_ + starts_[bucket + 1]; }

 private:
  const Entry *guess(const Slot &slot) const;

  RunName name_;
  std::unique_ptr<Mapping> mapping_;
  std::vector<uint32_t> starts_;
  const Entry *entries_;
};

std::string run_file(uint64_t number);

// Writes a run bucket after bucket; finish() makes it durable.
class RunBuilder {
 public:
  RunBuilder(const Directory &directory, uint64_t number, const NameBits &bits);
  // Each bucket in turn, in any order within.
  void add_bucket(std::vector<Entry> *entries);
  RunName finish();

 private:
  void write_buffer();

  NameBits bits_;
  uint64_t number_;
  uint64_t n_ = 0;
  uint64_t offset_;
  size_t next_bucket_ = 0;
  Bytes head_, buffer_;
  StreamChecksum entries_checksum_;
  File file_;
};

}  // namespace coin_log
