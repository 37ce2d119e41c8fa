// What the targets of rocks_kv share: its results, and blocks in and out.
#pragma once

#include "coin_set/cdb_coin_set_api.h"

#include "calls.h"
#include "chain.h"
#include "common/coin_name.h"
#include "queries.h"

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
  if (!is_ok(cdb_set_rewound_open(set, 0, &cursor, &error), &error, other)) return {};
  return blocks_of(cursor, most, chain, other);
}

inline cdb_set_state state_of(cdb_set *set) {
  cdb_set_state state;
  cdb_error error{};
  is_ok(cdb_set_get_state(set, &state, &error), &error);
  return state;
}

// Makes the secondary keys that it lacks, a few coins at a time.
inline void make_keys(cdb_set *set, cdb_status other = CDB_OK) {
  int32_t are_made = 0;
  while (are_made == 0) {
    uint64_t coins = 0;
    cdb_error error{};
    if (!is_ok(cdb_set_make_keys(set, 20, &coins, &are_made, &error), &error, other)) return;
  }
}

// Whether they are those that the blocks make.
inline bool are_keys_right(cdb_set *set, cdb_status other = CDB_OK) {
  cdb_set_key_sum of_blocks{}, of_keys{};
  cdb_error error{};
  while (of_blocks.next >= 0)
    if (!is_ok(cdb_set_sum_blocks(set, 20, &of_blocks, &error), &error, other)) return false;
  if (!is_ok(cdb_set_sum_keys(set, &of_keys, &error), &error, other)) return false;
  return of_blocks.sum == of_keys.sum;
}

// The coins by all values of a key, at this place of the confirms; false where there is damage.
inline bool ask(cdb_set *set, const Chain &chain, int32_t key, size_t place,
                std::vector<cdb_found_coin> *coins, cdb_status other = CDB_OK) {
  const std::vector<uint8_t> values = values_of(chain, place);
  const cdb_query query = query_by(key);
  cdb_set_answer *answer = nullptr;
  size_t n = 0;
  cdb_error error{};
  if (!is_ok(cdb_set_ask(set, &query, values.data(), values.size() / sizeof(Name), &n, &answer,
                         &error),
             &error, other))
    return false;
  coins->resize(n);
  cdb_set_answer_take(answer, coins->data());
  cdb_set_answer_end(answer);
  return true;
}
