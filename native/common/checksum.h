// The one checksum of all files of ours: XXH3, 64 bits. The seed ties the bytes to their place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cdb {

uint64_t checksum(const uint8_t *bytes, size_t n, uint64_t seed);

// The same over bytes that come in pieces.
class StreamChecksum {
 public:
  explicit StreamChecksum(uint64_t seed);
  ~StreamChecksum();
  void add(const uint8_t *bytes, size_t n);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cdb
