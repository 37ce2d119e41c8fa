// The bytes of one input, as what a target does with them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

// Gives numbers and bytes, and zeros when they are used up.
class Input {
 public:
  Input(const uint8_t *data, size_t bytes) : at_(data), end_(data + bytes) {}

  bool empty() const { return at_ == end_; }
  uint8_t byte() { return at_ == end_ ? uint8_t{0} : *at_++; }

  // Little endian, of 1 … 8 bytes.
  uint64_t number(size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= uint64_t{byte()} << 8 * i;
    return value;
  }

  // 0 … limit - 1; limit is 1 … 256.
  size_t below(size_t limit) { return byte() % limit; }

  // In memory of just that size, so that AddressSanitizer sees a step beyond it.
  std::vector<uint8_t> bytes(size_t n) {
    std::vector<uint8_t> taken(n);
    const size_t there = std::min(n, static_cast<size_t>(end_ - at_));
    if (there > 0) std::memcpy(taken.data(), at_, there);
    at_ += there;
    return taken;
  }

  std::vector<uint8_t> rest() { return bytes(static_cast<size_t>(end_ - at_)); }

 private:
  const uint8_t *at_;
  const uint8_t *const end_;
};
