// The one checksum of all files of ours: XXH3, 64 bits. The seed ties the bytes to their place.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cdb {

uint64_t checksum(const uint8_t *bytes, size_t n, uint64_t seed);

}  // namespace cdb
