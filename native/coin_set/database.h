// The whole database: what is in memory, in front of what is in the engine.
//
// One thread writes at a time, and any number read beside it (common/access.h). What readers see
// are the blocks up to visible_: those above, in memory or in the engine, are being examined, or
// erased.
#pragma once

#include "common/access.h"
#include "pending.h"
#include "store.h"

#include <atomic>
#include <mutex>
#include <set>

namespace cdb::coin_set {

class Cursor;

class Database {
 public:
  Database(const std::string &path, const cdb_set_options &options);
  // Everything else fails from then on. A second one does nothing.
  void close();

  // For any number of threads.
  cdb_set_state state();
  void find(const uint8_t *names, size_t n, cdb_coin_info *infos, uint8_t *found);
  // The blocks first … last of this moment. end() must follow.
  std::unique_ptr<Cursor> read(uint32_t first, uint32_t last);
  // Within a rewind: those that are to be erased.
  std::unique_ptr<Cursor> read_rewound();
  bool next(Cursor *cursor, cdb_set_block *block);
  void end(std::unique_ptr<Cursor> cursor);
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

 private:
  template <typename Body>
  auto reading(Body body);
  template <typename Body>
  void writing(Body body);
  // Throws where it is not.
  void check_usable() const;
  void doubt(const std::string &why);
  void restore();
  size_t add_until_bad(const Blocks &chunk, std::vector<size_t> *sizes);
  size_t check(size_t first_coin, const std::vector<size_t> &sizes, size_t first_bad);
  void find_all(const uint8_t *names, size_t n, cdb_coin_info *infos, uint8_t *found);
  std::unique_ptr<Cursor> open_cursor(uint32_t first, uint32_t last, size_t begin, size_t end);
  bool find_in_memory(const uint8_t *name, size_t i, cdb_coin_info *info,
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
  std::mutex cursors_mutex_;
  std::set<Cursor *> cursors_;
};

// Reads blocks in order, as they were when it was made: first those of the store, then those that
// were not committed.
class Cursor {
 public:
  Cursor(std::unique_ptr<BlockCursor> committed, std::shared_ptr<const PendingBlocks> pending,
         size_t begin, size_t end)
      : committed_(std::move(committed)), pending_(std::move(pending)), next_(begin), end_(end) {}
  // Whether there is another block, which is good until the next call.
  bool next(cdb_set_block *block);
  // Lets go of the engine; what next() gave last stays good.
  void release() { committed_->release_view(); }

 private:
  std::unique_ptr<BlockCursor> committed_;
  std::shared_ptr<const PendingBlocks> pending_;
  size_t next_, end_;
  Bytes spends_, confirms_;  // of the pending block that was read last
};

}  // namespace cdb::coin_set
