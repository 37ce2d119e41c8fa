// A run: index entries in a file that never changes, mapped.
//
//     offset       bytes    content, little endian
//     0            8        checksum of what follows up to the entries, seeded with the run's
//     number 8            4        magic "CLI1" 12           2        bucket bits B 14           2
//     name bits 16           8        count of entries N 24           8        checksum of the
//     entries, seeded with the run's number 32           4·2^B    count of entries in each bucket
//     32 + 4·2^B   8·N      entries by bucket, ascending: row (4), then key (4)
//
// The checksums are checked once, on opening.
#pragma once

#include "checksum.h"
#include "cold_reads.h"
#include "file.h"
#include "name_bits.h"

namespace cdb::coin_log {

// As the manifest names it. checksum: its first 8 bytes, which vouch for all others.
struct RunName {
  uint64_t number;
  uint64_t entries;
  uint64_t checksum;
};

class Run {
 public:
  Run(const Directory &directory, const RunName &name, const NameBits &bits);

  const RunName &name() const { return name_; }
  // The last row with these bits, or kNoRow. probes: the places that are looked at are added.
  uint32_t find(uint64_t bits, uint64_t *probes) const;
  void find_all(uint64_t bits, std::vector<uint32_t> *rows, uint64_t *probes) const;
  void prefetch_bucket(uint64_t bits) const { prefetch(&starts_[bits_.bucket(bits)]); }
  void prefetch_guess(uint64_t bits) const;
  // n of them are about to be looked for.
  void announce(const uint64_t *bits, size_t n, ColdReads *cold_reads) const;
  const Entry *begin(size_t bucket) const { return entries_ + starts_[bucket]; }
  const Entry *end(size_t bucket) const { return entries_ + starts_[bucket + 1]; }

  static constexpr size_t kGroup = 64;  // at most so many at a time

 private:
  const Entry *guess(uint64_t bits) const;
  // Where the entries with these bits begin, or would.
  const Entry *seek(uint64_t bits, uint64_t *probes) const;

  RunName name_;
  NameBits bits_;
  std::unique_ptr<Mapping> mapping_;
  std::vector<uint32_t> starts_;
  const Entry *entries_;
};

std::string run_file(uint64_t number);

// Writes a run, given its entries in ascending order; finish() makes it durable.
class RunBuilder {
 public:
  RunBuilder(const Directory &directory, uint64_t number, const NameBits &bits);
  void add(size_t bucket, Entry entry);
  RunName finish();

 private:
  void write_buffer();

  NameBits bits_;
  uint64_t number_;
  uint64_t n_ = 0;
  uint64_t offset_;
  std::vector<uint32_t> counts_;
  std::vector<Entry> buffer_;
  StreamChecksum entries_checksum_;
  File file_;
};

}  // namespace cdb::coin_log
