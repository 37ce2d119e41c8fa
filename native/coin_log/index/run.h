// A run: index entries in a file that never changes, mapped.
//
//     offset    bytes  content, little endian
//     0         8      checksum of the rest of this head, seeded with the run's number
//     8         4      magic "CLI3"
//     12        2      bucket bits B: 1 … 28
//     14        2      zeros
//     16        4      first row
//     20        4      zeros
//     24        8      count of entries N
//     32        8      checksum of what follows the entries, seeded with the run's number
//     40        6·N    entries by bucket, ascending: key (44 - B bits), row less the first (4 + B)
//     40 + 6·N  ≥ 2^B  entries in each bucket: a byte; from 255 on that, and 4 bytes more
//     …         8·C    a checksum of each 4,096 bytes of the entries, seeded with the run's number
//                      and with how many come before
//
// Entries are checked when they are first read, the rest on opening.
#pragma once

#include "common/checksum.h"
#include "coin_log/index/cold_reads.h"
#include "coin_log/format/checked.h"
#include "coin_log/format/file.h"
#include "common/fault_points.h"
#include "common/huge_pages.h"
#include "common/name_bits.h"

namespace cdb::coin_log {

// Key and row, in the lower 48 bits: of two with the same key the one with the lower row is less.
using Entry = uint64_t;
constexpr unsigned kEntryBytes = 6;
constexpr unsigned kEntryBits = 8 * kEntryBytes;
inline Entry entry_of(uint64_t word) { return word & ((uint64_t{1} << kEntryBits) - 1); }

// How the entries of a run are made: the first bits of a name choose a bucket, the next ones are
// the key. The more rows, the longer is a row's number, and the shorter the key; but there are as
// many more buckets, so that a bucket has 8 to 16 entries when each row has one.
class RunShape {
 public:
  // Of entries for rows from first to last.
  RunShape(uint32_t first_row, uint32_t last_row) : first_row_(first_row), bucket_bits_(1) {
    while (uint64_t{last_row - first_row} >> row_bits() != 0) ++bucket_bits_;
  }
  static RunShape of_file(uint32_t first_row, unsigned bucket_bits) {
    RunShape shape(first_row, first_row);
    shape.bucket_bits_ = bucket_bits;
    return shape;
  }

  bool is_sound() const { return bucket_bits_ >= 1 && row_bits() <= 32; }
  unsigned bucket_bits() const { return bucket_bits_; }
  uint32_t first_row() const { return first_row_; }
  // Whether an entry can have the row.
  bool reaches(uint32_t row) const {
    return row < first_row_ || uint64_t{row - first_row_} >> row_bits() == 0;
  }
  size_t buckets() const { return size_t{1} << bucket_bits_; }

  // bits: 64 of a name's.
  size_t bucket(uint64_t bits) const { return bits >> (64 - bucket_bits_); }
  Entry entry(uint64_t bits, uint32_t row) const {
    return entry_behind(bucket_bits_, in_run(bits), row);
  }
  // The same with the last bits of the bucket's number above the key: those behind the first
  // `bits`.
  uint64_t entry_behind(unsigned bits, uint64_t run_bits, uint32_t row) const {
    return (run_bits & ((uint64_t{1} << (kRunBits - bits)) - 1)) << row_bits() | (row - first_row_);
  }
  // How far into its bucket they should be, of 2^32.
  uint64_t share(uint64_t bits) const { return bits << bucket_bits_ >> 32; }

  uint32_t row(Entry entry) const {
    return first_row_ + static_cast<uint32_t>(entry & ((uint64_t{1} << row_bits()) - 1));
  }
  // The bits of the name that a run knows.
  uint64_t run_bits(size_t bucket, Entry entry) const {
    return uint64_t{bucket} << key_bits() | entry >> row_bits();
  }
  bool have_same_key(Entry a, Entry b) const { return (a ^ b) >> row_bits() == 0; }

 private:
  unsigned row_bits() const { return bucket_bits_ + kEntryBits - kRunBits; }
  unsigned key_bits() const { return kRunBits - bucket_bits_; }

  uint32_t first_row_;
  unsigned bucket_bits_;
};

// Which index a run is of.
enum class IndexOf : uint32_t { kNames, kPuzzleHashes, kOddParents };
constexpr size_t kIndexes = 3;

// As the manifest names it. checksum: its first 8 bytes, which vouch for all others.
struct RunName {
  uint64_t number;
  uint32_t entries;
  IndexOf index;
  uint64_t checksum;
};

class Run {
 public:
  Run(const Directory &directory, const RunName &name);

  const RunName &name() const { return name_; }
  const RunShape &shape() const { return shape_; }
  // The last row with these bits, or kNoRow. probes: the places that are looked at are added.
  uint32_t find(uint64_t bits, uint64_t *probes) const;
  void find_all(uint64_t bits, std::vector<uint32_t> *rows, uint64_t *probes) const;
  // Those with first ≤ row < end.
  void find_between(uint64_t bits, uint32_t first, uint32_t end, std::vector<uint32_t> *rows,
                    uint64_t *probes) const;
  void prefetch_bucket(uint64_t bits) const { prefetch(&starts_[shape_.bucket(bits)]); }
  void prefetch_guess(uint64_t bits) const;
  // n of them are about to be looked for.
  void announce(const uint64_t *bits, size_t n, ColdReads *cold_reads) const;

  // Entries are numbered; a bucket's begin where those of the one before end.
  size_t end(size_t bucket) const { return starts_[bucket + 1]; }
  // Reads two bytes more, of what always follows.
  Entry entry(size_t n) const { return entry_of(load<uint64_t>(place(n))); }

  static constexpr size_t kGroup = 64;  // at most so many at a time

  // Read all of it, also what was checked: what is made of it has new checksums.
  void check_all() const;

 private:
  const uint8_t *place(size_t n) const { return entries_ + kEntryBytes * n; }
  // Returns where they end.
  const uint8_t *read_counts(const uint8_t *from, const uint8_t *end);
  void check_bucket(size_t bucket) const;
  void check_chunk(size_t chunk) const;
  uint64_t entry_bytes() const { return kEntryBytes * uint64_t{name_.entries}; }
  size_t guess(uint64_t bits) const;
  // Where the entries with these bits and a row from this one on begin, or would. The run may have
  // such a row.
  size_t seek(uint64_t bits, uint32_t first_row, uint64_t *probes) const;
  // Calls visit(row) for the rows with these bits, as long as it returns true.
  template <typename Visit>
  void visit_rows(uint64_t bits, uint32_t first_row, uint64_t *probes, Visit visit) const;

  RunName name_;
  std::unique_ptr<Mapping> mapping_;
  RunShape shape_;
  const uint8_t *entries_;
  std::vector<uint32_t, HugePages<uint32_t>>
      starts_;                  // where each bucket begins, and the last ends
  std::vector<uint64_t> sums_;  // of chunks of the entries
  mutable Checked checked_;
};

std::string run_file(uint64_t number);

// Writes a run, given its entries in ascending order; finish() makes it durable.
class RunBuilder {
 public:
  RunBuilder(const Directory &directory, uint64_t number, IndexOf index, const RunShape &shape);
  void add(size_t bucket, Entry entry) {
    while (bucket_ < bucket) end_bucket();
    if (filled_ + kEntryBytes == kBufferBytes && CDB_FAULT("run-loses-an-entry")) return;
    ++count_;
    store(&buffer_[filled_], entry);
    filled_ += kEntryBytes;
    if (filled_ == kBufferBytes) write_buffer();
  }
  RunName finish();

 private:
  static constexpr size_t kBufferBytes = kEntryBytes << 17;  // a multiple of chunks

  void end_bucket();
  void write_buffer();
  void write(const uint8_t *bytes, size_t n);

  uint64_t number_;
  IndexOf index_;
  RunShape shape_;
  size_t bucket_ = 0;
  uint64_t n_ = 0, count_ = 0;  // of entries: in the buckets that have ended, and in this one
  Bytes counts_, sums_;
  Bytes buffer_;
  size_t filled_ = 0;
  uint64_t offset_;
  File file_;
};

}  // namespace cdb::coin_log
