// What the index knows of a name: 64 bits, of which the first say its bucket in a run and the next
// 32 are its key there. They are its hash, keyed by the database's own secret.
#pragma once

#include "common/bytes.h"
#include "common/keyed_hash.h"

namespace cdb::coin_log {

// An index entry of a run: key in the upper half, row in the lower one. Keys are spread evenly over
// a bucket.
using Entry = uint64_t;

inline Entry entry_of(uint32_t key, uint32_t row) { return Entry{key} << 32 | row; }
inline uint32_t key_of(Entry entry) { return static_cast<uint32_t>(entry >> 32); }
inline uint32_t row_of(Entry entry) { return static_cast<uint32_t>(entry); }

constexpr uint32_t kNoRow = UINT32_MAX;

class NameBits {
 public:
  // bucket_bits: 1 … 24. name_bits: 1 … 64; the bits after these count as zeros. Of others nothing
  // may be asked but are_sound().
  NameBits(uint32_t bucket_bits, uint32_t name_bits, const HashKey &secret)
      : bucket_bits_(bucket_bits),
        name_bits_(name_bits),
        mask_(~uint64_t{0} << (64 - name_bits) % 64),
        hash_(secret) {}

  bool are_sound() const {
    return bucket_bits_ >= 1 && bucket_bits_ <= 24 && name_bits_ >= 1 && name_bits_ <= 64;
  }

  uint64_t of(const uint8_t *name) const { return hash_.of(name) & mask_; }

  size_t buckets() const { return size_t{1} << bucket_bits_; }
  size_t bucket(uint64_t bits) const { return bits >> (64 - bucket_bits_); }
  uint32_t key(uint64_t bits) const { return static_cast<uint32_t>((bits << bucket_bits_) >> 32); }

  uint32_t bucket_bits() const { return bucket_bits_; }
  uint32_t name_bits() const { return name_bits_; }
  const HashKey &secret() const { return hash_.key(); }

 private:
  uint32_t bucket_bits_, name_bits_;
  uint64_t mask_;
  KeyedHash hash_;
};

}  // namespace cdb::coin_log
