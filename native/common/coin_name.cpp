// SHA-256 of coins by OpenSSL, which makes use of what the processor offers.
//
// A source of its own, called for many coins at a time: the processor's SHA instructions are two
// hundred times slower while the upper halves of AVX registers are in use, so nothing between two
// names may be compiled for AVX.

// What replaces these functions takes 1.5 times as long (EVP) or more.
#define OPENSSL_SUPPRESS_DEPRECATED

#include "coin_name.h"

#include <openssl/sha.h>

#include <cstring>

namespace cdb {

namespace {

constexpr size_t kHashesBytes = 2 * kNameBytes;
constexpr size_t kMessageBytes = 128;  // two of SHA-256's blocks, for every coin

// The length of the shortest big-endian two's-complement form; that of 0 is empty.
size_t clvm_int_bytes(uint64_t number) {
  return number == 0 ? 0 : static_cast<size_t>(72 - __builtin_clzll(number)) / 8;
}

// Parent, puzzle hash and clvm_int(amount), with the padding that SHA-256 puts behind them.
struct Message {
  uint8_t bytes[kMessageBytes] = {};

  Message(const uint8_t *parent, const uint8_t *puzzle_hash, uint64_t amount) {
    std::memcpy(bytes, parent, kNameBytes);
    std::memcpy(bytes + kNameBytes, puzzle_hash, kNameBytes);
    const size_t int_bytes = clvm_int_bytes(amount);
    const size_t end = kHashesBytes + int_bytes;
    // The amount as nine bytes and zeros: copied from inside, it needs no case of its own by
    // length.
    uint8_t padded[24] = {};
    store_big_endian(padded + 1, amount);
    std::memcpy(bytes + kHashesBytes, padded + 9 - int_bytes, 9);
    bytes[end] = 0x80;
    store_big_endian(bytes + kMessageBytes - 8, uint64_t{8 * end});
  }
};

}  // namespace

// Because the message is padded already, Update leaves its hash behind; Final would add a quarter
// to the time.
void name_coin(const uint8_t *parent, const uint8_t *puzzle_hash, uint64_t amount, uint8_t *name) {
  const Message message(parent, puzzle_hash, amount);
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, message.bytes, sizeof message.bytes);
  for (size_t i = 0; i < 8; ++i) store_big_endian(name + 4 * i, uint32_t{context.h[i]});
}

void name_coins(const uint8_t *confirms, size_t n, uint8_t *names) {
  for (; n > 0; --n, confirms += kConfirmBytes, names += kNameBytes)
    name_coin(confirms, confirms + kNameBytes, load_big_endian(confirms + kAmountAt), names);
}

}  // namespace cdb
