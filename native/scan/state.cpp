// What a state's digest is of, and what packed blocks are checked for, behind cdb_scan.h.

#include "cdb_scan_api.h"

#include "common/bytes.h"
#include "common/coin_name.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include <openssl/crypto.h>

using namespace cdb;

namespace {

bool says_the_same(const cdb_info &info, const cdb_coin &coin, uint64_t index) {
  return std::memcmp(&info.parent, &coin.parent, sizeof coin.parent) == 0 &&
         std::memcmp(&info.puzzle_hash, &coin.puzzle_hash, sizeof coin.puzzle_hash) == 0 &&
         info.amount == load_big_endian(coin.amount) && info.confirmed_index == index;
}

// 0 stands for no block, and a coin is there before it is spent, or with the block that spends it.
bool is_spent_by(const cdb_info &info, uint64_t index) {
  return index > 0 && info.spent_index == index && info.confirmed_index <= index;
}

void write_header(uint64_t index, uint64_t timestamp, uint64_t confirms, uint8_t *header) {
  store_big_endian(header, static_cast<uint32_t>(index));
  store_big_endian(header + 4, timestamp);
  store_big_endian(header + 12, static_cast<uint32_t>(confirms));
}

void write_coin(const cdb_hash &name, const cdb_info &info, uint8_t *coin) {
  std::memcpy(coin, &name, sizeof name);
  store_big_endian(coin + 32, info.confirmed_index);
  store_big_endian(coin + 36, info.spent_index);
}

}  // namespace

void cdb_name_coins(const cdb_coin *coins, size_t n, cdb_hash *names) {
  cdb::name_coins(reinterpret_cast<const uint8_t *>(coins), n, reinterpret_cast<uint8_t *>(names));
}

size_t cdb_write_state(const cdb_blocks *blocks, const cdb_info *infos, const uint8_t *found,
                       uint8_t *stream, size_t *spent) {
  const auto *const confirms = reinterpret_cast<const cdb_coin *>(blocks->confirms);
  const auto *const names = reinterpret_cast<const cdb_hash *>(blocks->names);
  size_t coin = 0;
  *spent = 0;
  for (size_t b = 0; b < blocks->n; ++b) {
    const size_t end = blocks->confirm_ends[b];
    write_header(blocks->indices[b], blocks->timestamps[b], end - coin, stream);
    stream += CDB_STATE_BLOCK_BYTES;
    for (; coin < end; ++coin, stream += CDB_STATE_COIN_BYTES) {
      const cdb_info &info = infos[coin];
      if (found[coin] == 0) return coin;
      if (!says_the_same(info, confirms[coin], blocks->indices[b])) return coin;
      write_coin(names[coin], info, stream);
      *spent += info.spent_index > 0 ? 1 : 0;
    }
  }
  return coin;
}

size_t cdb_first_unsorted(size_t blocks, const uint64_t *ends, const uint8_t *entries,
                          size_t entry_bytes) {
  size_t start = 0;
  for (size_t b = 0; b < blocks; start = ends[b++]) {
    for (size_t i = start + 1; i < ends[b]; ++i) {
      const uint8_t *const entry = entries + i * entry_bytes;
      if (std::memcmp(entry - entry_bytes, entry, entry_bytes) >= 0) return b;
    }
  }
  return blocks;
}

size_t cdb_first_false_spend(size_t blocks, const uint64_t *indices, const uint64_t *spend_ends,
                             const cdb_info *infos, const uint8_t *found) {
  size_t spend = 0;
  for (size_t b = 0; b < blocks; ++b)
    for (; spend < spend_ends[b]; ++spend)
      if (found[spend] == 0 || !is_spent_by(infos[spend], indices[b])) return b;
  return blocks;
}

void cdb_order_entries(size_t blocks, const uint64_t *ends, const uint8_t *entries,
                       size_t entry_bytes, uint32_t *order) {
  const auto is_before = [=](uint32_t a, uint32_t b) {
    return std::memcmp(entries + a * entry_bytes, entries + b * entry_bytes, entry_bytes) < 0;
  };
  size_t start = 0;
  for (size_t b = 0; b < blocks; start = ends[b++]) {
    std::iota(order + start, order + ends[b], static_cast<uint32_t>(start));
    std::sort(order + start, order + ends[b], is_before);
  }
}

const char *cdb_openssl_version(void) {
#ifdef OPENSSL_IS_AWSLC
  return "";
#else
  return OpenSSL_version(OPENSSL_VERSION);
#endif
}

void cdb_gather(size_t n, const uint32_t *order, const uint8_t *items, size_t item_bytes,
                uint8_t *gathered) {
  for (size_t i = 0; i < n; ++i)
    std::memcpy(gathered + i * item_bytes, items + order[i] * item_bytes, item_bytes);
}
