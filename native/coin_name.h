// The names of coins; docs/replay-format.md says what they are.
#pragma once

#include "cdb_scan_api.h"

// Sets names[i] to the name of coins[i], for n coins.
void name_coins(const cdb_coin *coins, size_t n, cdb_hash *names);
