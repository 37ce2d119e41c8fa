// A quarter of the price of OpenSSL's newer interface, which looks the digest up at each call.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "coin_name.h"

#include "bytes.h"

#include <openssl/sha.h>

namespace coin_log {

void coin_name(const uint8_t *parent, const uint8_t *puzzle_hash, uint64_t amount, uint8_t *name) {
  uint8_t preimage[2 * kNameBytes + 9];
  std::memcpy(preimage, parent, kNameBytes);
  std::memcpy(preimage + kNameBytes, puzzle_hash, kNameBytes);
  uint8_t digits[9] = {0};
  store_big_endian(digits + 1, amount);
  // A leading bit that is set would mean a negative number: it takes a zero byte before it.
  size_t n = bytes_needed(amount);
  if (n > 0 && digits[9 - n] >= 0x80) ++n;
  std::memcpy(preimage + 2 * kNameBytes, digits + 9 - n, n);
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, preimage, 2 * kNameBytes + n);
  SHA256_Final(name, &context);
}

}  // namespace coin_log
