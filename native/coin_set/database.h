// The whole database: what is in memory, in front of what is in the engine.
//
// One thread writes at a time, and any number read beside it (common/access.h). What readers see
// are the blocks up to visible_: those above, in memory or in the engine, are being examined, or
// erased.
#pragma once

#include "common/access.h"
#include "cursor.h"
#include "history.h"
#include "pending.h"
#include "store.h"
#include "view.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <set>

namespace cdb::coin_set {

class Database {
 public:
  Database(const std::string &path, const cdb_set_options &options);
  // Readers let go of the engine, and fail from then on.
  void end_reading();
  // Everything else fails from then on. A second one does nothing.
  void close();

  // For any number of threads.
  cdb_set_state state();
  void find(const uint8_t *names, size_t n, cdb_coin_info *infos, uint8_t *found);
  void find_as_of(const uint8_t *names, size_t n, int64_t height, cdb_coin_info *infos,
                  uint8_t *found);
  // By secondary keys and ranges; values: n of the query's key.
  std::vector<cdb_found_coin> ask(const cdb_query &query, const uint8_t *values, size_t n);
  // Adds what blocks from sum->next on make of secondary keys' entries, and what there is of them.
  void sum_blocks(uint64_t max_coins, cdb_set_key_sum *sum);
  void sum_keys(cdb_set_key_sum *sum);
  // The blocks first … last of this moment. end() must follow.
  std::unique_ptr<Cursor> read(uint32_t first, uint32_t last);
  // Within a rewind: those that are to be erased, from an index on.
  std::unique_ptr<Cursor> read_rewound(uint64_t first);
  bool next(Cursor *cursor, cdb_set_block *block);
  // All coins as of a block, or those that are unspent then; and the versions of a range of blocks.
  // Both are of this moment, and end() must follow.
  std::unique_ptr<CoinReader> read_state(int64_t height, bool only_unspent);
  std::unique_ptr<CoinReader> read_versions(int64_t first, int64_t last);
  // See CoinReader.
  std::optional<size_t> next(CoinReader *coins, size_t most, uint8_t *names, cdb_coin_info *infos);
  void end(std::unique_ptr<Reader> reader);
  void verify();

  // For the one who writes. One that fails leaves the database in doubt.
  // The number of blocks before the first one that breaks a rule.
  size_t accept(const Blocks &chunk);
  void commit();
  void checkpoint();
  void settle();
  void begin_rewind(int64_t newest);
  void erase(const Blocks &blocks);
  void end_rewind();
  // Makes secondary keys of about so many coins; gives how many it were, until they are made.
  uint64_t make_keys(uint64_t max_coins, bool *are_made);

 private:
  template <typename Body>
  auto reading(Body body);
  template <typename Body>
  void writing(Body body);
  // Throws where it is not.
  void check_usable() const;
  void check_readers() const;
  void doubt(const std::string &why);
  void restore();
  // accept.cpp. How many blocks behind the newest one were added, before one that breaks a rule.
  // engine: where older coins are looked for; null: it need not be.
  size_t add(const Blocks &blocks, int64_t newest, const Store *engine);
  void know_older_coins();
  void find_all(const uint8_t *names, size_t n, int64_t as_of, cdb_coin_info *infos,
                uint8_t *found);
  View view() const { return {*store_, pending_, visible_}; }
  template <typename Made>
  std::unique_ptr<Made> registered(std::unique_ptr<Made> reader);
  const StoredKeys &keys() const;
  bool find_in_memory(const Asked &asked, int64_t as_of, cdb_coin_info *info,
                      std::vector<Place> *places, uint64_t *probes) const;
  void commit_pending();
  void index();
  int64_t newest_pending() const;

  const cdb_set_options options_;
  Access access_;
  std::unique_ptr<Store> store_;  // null once it is closed
  Pending pending_;
  int64_t visible_ = -1;
  std::atomic<uint64_t> finding_probes_{0};
  std::atomic<uint64_t> key_entries_{0}, query_coins_{0};
  std::mutex readers_mutex_;
  std::set<Reader *> readers_;
  bool are_readers_ended_ = false;
};

}  // namespace cdb::coin_set
