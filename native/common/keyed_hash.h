// The hash of whatever a peer can choose, for both stores: strongly universal, with a secret key.
//
// A peer can put any 32 bytes into a block, as spends and as parents, and knows this file. It does
// not know the key, which is drawn for each table or each database, and nothing that leaves the
// process tells a hash. The upper half of  b + Σ a[i]·x[i]  mod 2^128, for words x of 64 bits and
// random a and b of 128, is uniform, and independent for any two inputs (vector multiply-shift:
// Dietzfelbinger 1996; Thorup, "High Speed Hashing for Integers and Strings", 2015). So whatever
// names are chosen, two of them meet as seldom as random ones. Modulo 2^64 that would not hold:
// words that differ in their top bits would meet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

namespace cdb {

// The factors a, two words each, the lower first; then b.
using HashKey = std::array<uint64_t, 10>;

inline HashKey random_hash_key() {
  std::random_device device;
  HashKey key;
  for (uint64_t &word : key) word = uint64_t{device()} << 32 | device();
  return key;
}

class KeyedHash {
 public:
  explicit KeyedHash(const HashKey &key) : key_(key) {}

  const HashKey &key() const { return key_; }

  // Of up to four words.
  template <size_t kWords>
  uint64_t of(const std::array<uint64_t, kWords> &words) const {
    static_assert(2 * kWords + 2 <= std::tuple_size_v<HashKey>);
    Wide sum = wide(key_[8], key_[9]);
    for (size_t i = 0; i < kWords; ++i) sum += wide(key_[2 * i], key_[2 * i + 1]) * words[i];
    return mixed(static_cast<uint64_t>(sum >> 64));
  }

  // Of a name's 32 bytes.
  uint64_t of(const uint8_t *name) const {
    std::array<uint64_t, 4> words;
    std::memcpy(words.data(), name, sizeof words);
    return of(words);
  }

 private:
  __extension__ using Wide = unsigned __int128;

  static Wide wide(uint64_t low, uint64_t high) { return Wide{high} << 64 | low; }

  // One to one. Without it the hashes of inputs at equal distances would be at equal distances,
  // too.
  static uint64_t mixed(uint64_t hash) {
    hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
  }

  HashKey key_;
};

}  // namespace cdb
