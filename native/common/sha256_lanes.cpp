#include "sha256_lanes.h"

#if defined(__x86_64__)

#include <cpuid.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "bytes.h"

namespace cdb {

namespace {

using Lanes = uint32_t __attribute__((vector_size(4 * kLanes)));
#define CDB_IN_LANES __attribute__((target("avx2"), always_inline)) inline

constexpr size_t kWords = 16, kRounds = 64, kStates = 8;
constexpr uint32_t kStart[kStates] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr uint32_t kRound[kRounds] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

CDB_IN_LANES Lanes rotated(Lanes x, int bits) { return x >> bits | x << (32 - bits); }

// One of FIPS 180-4, 6.2.2, by its letters. What is a at first is b in the next round: instead of
// moving them, each round takes them from other places.
template <size_t t>
CDB_IN_LANES void round(Lanes *state, Lanes *w) {
  constexpr auto at = [](size_t letter) { return (letter + kRounds - t) % kStates; };
  const Lanes a = state[at(0)], b = state[at(1)], c = state[at(2)];
  const Lanes e = state[at(4)], f = state[at(5)], g = state[at(6)];
  Lanes &d = state[at(3)], &h = state[at(7)], &word = w[t % kWords];
  if (t >= kWords) {
    const Lanes x = w[(t + 1) % kWords], y = w[(t + 14) % kWords];
    word += (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + w[(t + 9) % kWords] +
            (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
  }
  h += (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + kRound[t] + word;
  d += h;
  h += (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) | (c & (a | b)));
}

template <size_t... t>
CDB_IN_LANES void compress(Lanes *state, Lanes *w, std::index_sequence<t...> /*all*/) {
  Lanes worked[kStates];
  std::copy_n(state, kStates, worked);
  (round<t>(worked, w), ...);
  for (size_t i = 0; i < kStates; ++i) state[i] += worked[i];
}

bool has_sha_instructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0;
}

bool look() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") &&
         (!has_sha_instructions() || std::getenv("CDB_SHA256_IN_LANES"));
}

// When the library is loaded: a lock, which a first call would need, may be held where one forks.
const bool kAreFaster = look();

}  // namespace

bool are_lanes_faster() { return kAreFaster; }

__attribute__((target("avx2"))) void hash_in_lanes(const uint8_t (*messages)[kMessageBytes],
                                                   uint8_t *hashes) {
  Lanes state[kStates];
  for (size_t i = 0; i < kStates; ++i) state[i] = kStart[i] - Lanes{};
  for (size_t from = 0; from < kMessageBytes; from += 4 * kWords) {
    Lanes words[kWords];
    for (size_t i = 0; i < kWords; ++i)
      for (size_t lane = 0; lane < kLanes; ++lane)
        words[i][lane] = load_big_endian<uint32_t>(messages[lane] + from + 4 * i);
    compress(state, words, std::make_index_sequence<kRounds>());
  }
  for (size_t lane = 0; lane < kLanes; ++lane)
    for (size_t i = 0; i < kStates; ++i)
      store_big_endian(hashes + 4 * (kStates * lane + i), uint32_t{state[i][lane]});
}

}  // namespace cdb

#else

namespace cdb {

bool are_lanes_faster() { return false; }
void hash_in_lanes(const uint8_t (*)[kMessageBytes], uint8_t *) {}

}  // namespace cdb

#endif
