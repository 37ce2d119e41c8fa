// A coin that is in memory until it is indexed.
#pragma once

#include "common/bytes.h"

namespace cdb::coin_set {

// A coin that a block in memory confirms, or an older one that such a block spends.
struct PendingCoin {
  uint8_t name[kNameBytes];
  uint32_t confirmed_index;
  uint32_t position;     // among the confirms of its block
  uint32_t spent_index;  // 0: unspent
  bool is_confirmed;  // else it is an older coin, and the first two numbers mean nothing, but for
                      // a layout that repeats them
};

}  // namespace cdb::coin_set
