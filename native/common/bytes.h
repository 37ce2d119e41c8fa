// Numbers in byte strings, and names and confirms as such.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace cdb {

constexpr size_t kNameBytes = 32;
constexpr size_t kConfirmBytes = 72;
constexpr size_t kAmountAt = 64;  // in a confirm

using Bytes = std::vector<uint8_t>;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the files are little endian");

template <typename T>
T load(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
void store(uint8_t *to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// A number of 0 … 8 bytes, little endian.
inline uint64_t load_narrow(const uint8_t *from, unsigned bytes) {
  uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}

inline uint32_t swapped(uint32_t value) { return __builtin_bswap32(value); }
inline uint64_t swapped(uint64_t value) { return __builtin_bswap64(value); }

template <typename T = uint64_t>
T load_big_endian(const uint8_t *from) {
  return swapped(load<T>(from));
}

template <typename T>
void store_big_endian(uint8_t *to, T value) {
  store(to, swapped(value));
}

inline unsigned bytes_needed(uint64_t value) {
  return value == 0 ? 0 : (71U - static_cast<unsigned>(__builtin_clzll(value))) / 8;
}

inline bool is_same_name(const uint8_t *a, const uint8_t *b) {
  return ((load<uint64_t>(a) ^ load<uint64_t>(b)) |
          (load<uint64_t>(a + 8) ^ load<uint64_t>(b + 8)) |
          (load<uint64_t>(a + 16) ^ load<uint64_t>(b + 16)) |
          (load<uint64_t>(a + 24) ^ load<uint64_t>(b + 24))) == 0;
}

// As memcmp, but without a call: most differ in their first bytes.
template <size_t kBytes>
int compare(const uint8_t *a, const uint8_t *b) {
  static_assert(kBytes % 8 == 0);
  for (size_t i = 0; i < kBytes; i += 8) {
    const uint64_t number = load_big_endian(a + i), other = load_big_endian(b + i);
    if (number != other) return number < other ? -1 : 1;
  }
  return 0;
}

inline int compare_names(const uint8_t *a, const uint8_t *b) { return compare<kNameBytes>(a, b); }

inline void prefetch(const void *address) { __builtin_prefetch(address); }

// The first and the last of so many bytes at each address. A prefetch waits for its page to be
// looked up, and others go on beside it only as far as the processor sees ahead: so nothing else
// belongs between them.
inline void prefetch_all(const uint8_t *const *addresses, size_t n, size_t bytes) {
  for (size_t i = 0; i < n; ++i) prefetch(addresses[i]);
  for (size_t i = 0; i < n; ++i) prefetch(addresses[i] + bytes - 1);
}

}  // namespace cdb
