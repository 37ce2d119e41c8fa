#include "checksum.h"

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

namespace cdb {

struct StreamChecksum::State {
  XXH3_state_t xxh3;
};

StreamChecksum::StreamChecksum(uint64_t seed) : state_(std::make_unique<State>()) {
  XXH3_64bits_reset_withSeed(&state_->xxh3, seed);
}

StreamChecksum::~StreamChecksum() = default;

void StreamChecksum::add(const uint8_t *bytes, size_t n) {
  XXH3_64bits_update(&state_->xxh3, bytes, n);
}

uint64_t StreamChecksum::value() const { return XXH3_64bits_digest(&state_->xxh3); }

uint64_t checksum(const uint8_t *bytes, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, n, seed);
}

}  // namespace cdb
