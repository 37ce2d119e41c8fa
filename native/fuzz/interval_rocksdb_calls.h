// What the targets of rocks_kv share: its results, and blocks in and out.
#pragma once

#include "coin_set/cdb_coin_set_api.h"

#include "calls.h"
#include "chain.h"
#include "common/coin_name.h"

#include <algorithm>
#include <vector>

inline void name_confirms(const uint8_t *confirms, size_t n, uint8_t *names) {
  cdb::name_coins(confirms, n, names);
}

inline Block copied(const cdb_set_block &given, const Chain &chain) {
  Block block;
  block.index = given.index;
  block.timestamp = given.timestamp;
  block.spends.resize(given.n_spends);
  block.confirms.resize(given.n_confirms);
  for (size_t i = 0; i < given.n_spends; ++i)
    std::copy_n(given.spends + i * sizeof(Name), sizeof(Name), block.spends[i].begin());
  for (size_t i = 0; i < given.n_confirms; ++i)
    std::copy_n(given.confirms + i * sizeof(Confirm), sizeof(Confirm), block.confirms[i].begin());
  block.names = chain.names_of(block.confirms);
  return block;
}

// At most so many of a cursor's blocks, up to damage where that may be.
inline std::vector<Block> blocks_of(cdb_set_cursor *cursor, size_t most, const Chain &chain,
                                    cdb_status other = CDB_OK) {
  std::vector<Block> blocks;
  cdb_error error{};
  while (blocks.size() < most) {
    cdb_set_block block;
    int32_t found = -1;
    if (!is_ok(cdb_set_cursor_next(cursor, &block, &found, &error), &error, other)) break;
    if (found == 0) break;
    blocks.push_back(copied(block, chain));
  }
  cdb_set_cursor_close(cursor);
  return blocks;
}

inline std::vector<Block> blocks_between(cdb_set *set, uint32_t first, uint32_t last,
                                         const Chain &chain, cdb_status other = CDB_OK) {
  cdb_set_cursor *cursor = nullptr;
  cdb_error error{};
  if (!is_ok(cdb_set_cursor_open(set, first, last, &cursor, &error), &error, other)) return {};
  return blocks_of(cursor, SIZE_MAX, chain, other);
}

// Within a rewind: of those that are to be erased.
inline std::vector<Block> rewound_blocks(cdb_set *set, size_t most, const Chain &chain,
                                         cdb_status other = CDB_OK) {
  cdb_set_cursor *cursor = nullptr;
  cdb_error error{};
  if (!is_ok(cdb_set_rewound_open(set, &cursor, &error), &error, other)) return {};
  return blocks_of(cursor, most, chain, other);
}
