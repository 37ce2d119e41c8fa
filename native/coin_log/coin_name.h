// SHA-256 names of coins.
#pragma once

#include <cstdint>

namespace coin_log {

// name = SHA-256(parent ‖ puzzle hash ‖ the amount's shortest two's-complement form).
void coin_name(const uint8_t *parent, const uint8_t *puzzle_hash, uint64_t amount, uint8_t *name);

}  // namespace coin_log
