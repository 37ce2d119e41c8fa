// The names of coins; docs/replay-format.md says what they are.
#pragma once

#include "bytes.h"

namespace cdb {

// The 32 bytes at `name` become the name of the coin with these fields, hashes of 32 bytes.
void name_coin(const uint8_t *parent, const uint8_t *puzzle_hash, uint64_t amount, uint8_t *name);

// What a name is the hash of.
struct CoinFields {
  const uint8_t *parent, *puzzle_hash;
  uint64_t amount;
};

// It pays to name so many at once; more take as long each.
constexpr size_t kNamedAtOnce = 8;

// Sets the names, without gaps, of n coins.
void name_coins(const CoinFields *coins, size_t n, uint8_t *names);

// The same of n confirms: parent, puzzle hash, and amount, big endian.
void name_coins(const uint8_t *confirms, size_t n, uint8_t *names);

}  // namespace cdb
