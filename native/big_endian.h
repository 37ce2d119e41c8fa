// Numbers as big-endian bytes.
#pragma once

#include <cstdint>
#include <cstring>

namespace big_endian {

constexpr bool kIsNative = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

inline uint64_t load64(const uint8_t *bytes) {
  uint64_t number = 0;
  std::memcpy(&number, bytes, sizeof number);
  return kIsNative ? number : __builtin_bswap64(number);
}

inline void store64(uint64_t number, uint8_t *bytes) {
  if (!kIsNative) number = __builtin_bswap64(number);
  std::memcpy(bytes, &number, sizeof number);
}

inline void store32(uint32_t number, uint8_t *bytes) {
  if (!kIsNative) number = __builtin_bswap32(number);
  std::memcpy(bytes, &number, sizeof number);
}

}  // namespace big_endian
