// The hash of whatever a peer can choose: SipHash-1-3 with a key of 128 bits, for both stores.
//
// A peer can put any 32 bytes into a block, as spends and as parents, and knows this file. It does not
// know the key, which is drawn for each table or each database. To whom the key is unknown, SipHash is a
// random function: nobody can make up names that meet, or that crowd one place, but by chance.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>

struct HashKey {
  uint64_t first, second;

  static HashKey random() {
    std::random_device device;
    const auto word = [&device] { return uint64_t{device()} << 32 | device(); };
    const uint64_t first = word();
    return {first, word()};
  }
};

class KeyedHash {
 public:
  constexpr explicit KeyedHash(HashKey key)
      : start_{key.first ^ 0x736f6d6570736575, key.second ^ 0x646f72616e646f6d,
               key.first ^ 0x6c7967656e657261, key.second ^ 0x7465646279746573} {}

  // Of a whole number of words, as they lie in memory; little endian machines give SipHash of the bytes.
  template <size_t kWords>
  constexpr uint64_t of(const std::array<uint64_t, kWords> &words) const {
    State state = start_;
    for (const uint64_t word : words) state.add(word);
    state.add(uint64_t{8 * kWords} << 56);
    state.c ^= 0xff;
    for (int i = 0; i < kLastRounds; ++i) state.round();
    return state.a ^ state.b ^ state.c ^ state.d;
  }

  // Of a name's 32 bytes.
  uint64_t of(const uint8_t *name) const {
    std::array<uint64_t, 4> words;
    std::memcpy(words.data(), name, sizeof words);
    return of(words);
  }

 private:
  static constexpr int kLastRounds = 3;

  struct State {
    uint64_t a, b, c, d;

    static constexpr uint64_t rotated(uint64_t word, unsigned bits) {
      return word << bits | word >> (64 - bits);
    }
    constexpr void round() {
      a += b, b = rotated(b, 13) ^ a, a = rotated(a, 32);
      c += d, d = rotated(d, 16) ^ c;
      a += d, d = rotated(d, 21) ^ a;
      c += b, b = rotated(b, 17) ^ c, c = rotated(c, 32);
    }
    constexpr void add(uint64_t word) {
      d ^= word;
      round();
      a ^= word;
    }
  };

  State start_;
};
