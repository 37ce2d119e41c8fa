// SHA-256 of coins by OpenSSL, which makes use of what the processor offers; or of many in lanes.
//
// A source of its own, called for many coins at a time: the processor's SHA instructions are two
// hundred times slower while the upper halves of AVX registers are in use, so nothing between two
// names may be compiled for AVX.

// What replaces these functions takes 1.5 times as long (EVP) or more.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "coin_name.h"

#include <openssl/sha.h>

#include <algorithm>
#include <cstring>

#include "sha256_lanes.h"

namespace cdb {

namespace {

constexpr size_t kHashesBytes = 2 * kNameBytes;

// The length of the shortest big-endian two's-complement form; that of 0 is empty.
size_t clvm_int_bytes(uint64_t number) {
  return number == 0 ? 0 : static_cast<size_t>(72 - __builtin_clzll(number)) / 8;
}

// Parent, puzzle hash and clvm_int(amount), with the padding that SHA-256 puts behind them. Any
// coin takes kMessageBytes.
void write_message(const CoinFields &coin, uint8_t *bytes) {
  std::memcpy(bytes, coin.parent, kNameBytes);
  std::memcpy(bytes + kNameBytes, coin.puzzle_hash, kNameBytes);
  std::memset(bytes + kHashesBytes, 0, kMessageBytes - kHashesBytes);
  const size_t int_bytes = clvm_int_bytes(coin.amount);
  const size_t end = kHashesBytes + int_bytes;
  // The amount as nine bytes and zeros: copied from inside, it needs no case of its own by length.
  uint8_t padded[24] = {};
  store_big_endian(padded + 1, coin.amount);
  std::memcpy(bytes + kHashesBytes, padded + 9 - int_bytes, 9);
  bytes[end] = 0x80;
  store_big_endian(bytes + kMessageBytes - 8, uint64_t{8 * end});
}

static_assert(kNamedAtOnce == kLanes);
constexpr size_t kFewestInLanes = 3;  // two by themselves take no longer

// At most kLanes; those that are missing are the first one once more.
void name_in_lanes(const CoinFields *coins, size_t n, uint8_t *names) {
  uint8_t messages[kLanes][kMessageBytes], hashes[kLanes * kNameBytes];
  for (size_t lane = 0; lane < kLanes; ++lane)
    write_message(coins[lane < n ? lane : 0], messages[lane]);
  hash_in_lanes(messages, hashes);
  std::memcpy(names, hashes, n * kNameBytes);
}

}  // namespace

// Because the message is padded already, Update leaves its hash behind; Final would add a quarter
// to the time.
void name_coin(const uint8_t *parent, const uint8_t *puzzle_hash, uint64_t amount, uint8_t *name) {
  uint8_t message[kMessageBytes];
  write_message({parent, puzzle_hash, amount}, message);
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, message, sizeof message);
  for (size_t i = 0; i < 8; ++i) store_big_endian(name + 4 * i, uint32_t{context.h[i]});
}

void name_coins(const CoinFields *coins, size_t n, uint8_t *names) {
  for (size_t group = 0; n > 0; n -= group, coins += group, names += group * kNameBytes) {
    group = std::min(n, kNamedAtOnce);
    if (group >= kFewestInLanes && are_lanes_faster()) {
      name_in_lanes(coins, group, names);
      continue;
    }
    for (size_t i = 0; i < group; ++i)
      name_coin(coins[i].parent, coins[i].puzzle_hash, coins[i].amount, names + i * kNameBytes);
  }
}

void name_coins(const uint8_t *confirms, size_t n, uint8_t *names) {
  CoinFields coins[kNamedAtOnce];
  for (size_t group = 0; n > 0; n -= group, names += group * kNameBytes) {
    group = std::min(n, kNamedAtOnce);
    for (size_t i = 0; i < group; ++i, confirms += kConfirmBytes)
      coins[i] = {confirms, confirms + kNameBytes, load_big_endian(confirms + kAmountAt)};
    name_coins(coins, group, names);
  }
}

}  // namespace cdb
