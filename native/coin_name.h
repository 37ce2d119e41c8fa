// The names of coins; docs/replay-format.md says what they are.
#pragma once

#include "cdb_scan_api.h"

// The 32 bytes at `name` become the name of the coin with these fields, hashes of 32 bytes.
void name_coin(const uint8_t *parent, const uint8_t *puzzle_hash, uint64_t amount, uint8_t *name);

// Sets names[i] to the name of coins[i], for n coins.
void name_coins(const cdb_coin *coins, size_t n, cdb_hash *names);
