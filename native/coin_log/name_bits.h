// What the index knows of a name: of its 64 mixed bits, some say its bucket, the next 32 are its key
// there. Mixed, because the parents of rewards are no hashes: they begin alike and end in a height.
#pragma once

#include "bytes.h"

namespace coin_log {

// An index entry: key in the upper half, row in the lower one. Keys are spread evenly over a bucket.
using Entry = uint64_t;

struct Slot {
  uint32_t bucket;
  uint32_t key;
};

// Every name has its own bits as far as its first and last 8 bytes differ (MurmurHash3's finalizer).
inline uint64_t mixed(const uint8_t *name) {
  const uint64_t last = load<uint64_t>(name + kNameBytes - 8);
  uint64_t bits = load<uint64_t>(name) ^ (last << 32 | last >> 32);
  bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccd;
  bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53;
  return bits ^ bits >> 33;
}

struct NameBits {
  uint32_t bucket_bits;  // 1 … 24
  uint32_t name_bits;    // 1 … 64: mixed bits after these count as zeros

  size_t buckets() const { return size_t{1} << bucket_bits; }

  Slot slot(const uint8_t *name) const {
    const uint64_t bits = mixed(name) & (~uint64_t{0} << (64 - name_bits));
    return {static_cast<uint32_t>(bits >> (64 - bucket_bits)),
            static_cast<uint32_t>((bits << bucket_bits) >> 32)};
  }
};

inline Entry entry_of(uint32_t key, uint32_t row) { return Entry{key} << 32 | row; }
inline uint32_t key_of(Entry entry) { return static_cast<uint32_t>(entry >> 32); }
inline uint32_t row_of(Entry entry) { return static_cast<uint32_t>(entry); }

// Row `row` is a candidate for the name number `query` of those that were asked for.
struct Hit {
  uint32_t query;
  uint32_t row;
};

}  // namespace coin_log
