// What the index knows of a name: 64 bits, of which the first say its bucket in a run and the next
// 32 are its key there.
//
// They are keyed by the database's own secret: nobody can make up names that share them, or that
// crowd one place, without knowing it.
#pragma once

#include "bytes.h"

namespace coin_log {

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
  NameBits(uint32_t bucket_bits, uint32_t name_bits, uint64_t secret);

  bool are_sound() const {
    return bucket_bits_ >= 1 && bucket_bits_ <= 24 && name_bits_ >= 1 && name_bits_ <= 64;
  }

  uint64_t of(const uint8_t *name) const {
    const uint64_t bits = product(load<uint64_t>(name) ^ keys_[0], load<uint64_t>(name + 8) ^ keys_[1]) ^
                          product(load<uint64_t>(name + 16) ^ keys_[2], load<uint64_t>(name + 24) ^ keys_[3]);
    return product(bits, kOdd) & mask_;
  }

  size_t buckets() const { return size_t{1} << bucket_bits_; }
  size_t bucket(uint64_t bits) const { return bits >> (64 - bucket_bits_); }
  uint32_t key(uint64_t bits) const { return static_cast<uint32_t>((bits << bucket_bits_) >> 32); }

  uint32_t bucket_bits() const { return bucket_bits_; }
  uint32_t name_bits() const { return name_bits_; }
  uint64_t secret() const { return secret_; }

 private:
  static constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio

  // Both halves of the product, folded.
  static uint64_t product(uint64_t a, uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide wide = Wide{a} * b;
    return static_cast<uint64_t>(wide >> 64) ^ static_cast<uint64_t>(wide);
  }

  uint32_t bucket_bits_, name_bits_;
  uint64_t secret_, mask_;
  uint64_t keys_[4];
};

}  // namespace coin_log
