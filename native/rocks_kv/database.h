// The whole database: what is in memory, in front of what is in RocksDB.
//
// One thread writes at a time, and any number read beside it (common/access.h). What readers see
// are the blocks up to visible_: those above, in memory or in RocksDB, are being examined, or
// erased.
#pragma once

#include "common/access.h"
#include "pending.h"
#include "store.h"

#include <atomic>
#include <mutex>
#include <set>

namespace cdb::rocks_kv {

class Cursor;

class Database {
 public:
  static rocksdb::Status open(const std::string &path, const cdb_kv_options &options,
                              std::unique_ptr<Database> *database);
  // Everything else fails from then on. A second one does nothing.
  rocksdb::Status close();

  // For any number of threads.
  rocksdb::Status state(cdb_kv_state *state);
  rocksdb::Status find(const uint8_t *names, size_t n, cdb_kv_info *infos, uint8_t *found);
  // The blocks first … last of this moment. Where *cursor is set, end() must follow, also when it
  // fails.
  rocksdb::Status read(uint32_t first, uint32_t last, std::unique_ptr<Cursor> *cursor);
  // Within a rewind: those that are to be erased.
  rocksdb::Status read_rewound(std::unique_ptr<Cursor> *cursor);
  rocksdb::Status next(Cursor *cursor, cdb_kv_block *block, bool *found);
  void end(std::unique_ptr<Cursor> cursor);
  rocksdb::Status verify();

  // For the one who writes. One that fails leaves the database in doubt.
  rocksdb::Status accept(const Blocks &chunk, size_t *accepted);
  rocksdb::Status commit();
  rocksdb::Status checkpoint();
  rocksdb::Status settle();
  rocksdb::Status begin_rewind(int64_t newest);
  rocksdb::Status erase(const Blocks &blocks);
  rocksdb::Status end_rewind();

 private:
  template <typename Body>
  rocksdb::Status reading(Body body);
  template <typename Body>
  rocksdb::Status writing(Body body);
  // Throws where it is not.
  void check_usable() const;
  void doubt(const std::string &why);
  rocksdb::Status load(const std::string &path);
  rocksdb::Status restore();
  size_t add_until_bad(const Blocks &chunk, std::vector<size_t> *sizes);
  rocksdb::Status check(size_t first_coin, const std::vector<size_t> &sizes, size_t *first_bad);
  rocksdb::Status find_all(const uint8_t *names, size_t n, cdb_kv_info *infos, uint8_t *found);
  void open_cursor(uint32_t first, uint32_t last, size_t begin, size_t end,
                   std::unique_ptr<Cursor> *cursor);
  bool find_in_memory(const uint8_t *name, size_t i, cdb_kv_info *info, std::vector<Place> *places,
                      uint64_t *probes) const;
  rocksdb::Status commit_pending();
  rocksdb::Status index();
  int64_t newest_pending() const;

  cdb_kv_options options_{};
  std::shared_ptr<LostPages> lost_pages_ = std::make_shared<LostPages>();
  Access access_;
  std::unique_ptr<Store> store_;  // null once it is closed
  Pending pending_;
  int64_t visible_ = -1;
  std::atomic<uint64_t> finding_probes_{0};
  std::mutex cursors_mutex_;
  std::set<Cursor *> cursors_;
};

// Reads blocks in order, as they were when it was made: first those of RocksDB, then those that
// were not committed.
class Cursor {
 public:
  Cursor(std::unique_ptr<BlockCursor> committed, std::shared_ptr<const PendingBlocks> pending,
         size_t begin, size_t end)
      : committed_(std::move(committed)), pending_(std::move(pending)), next_(begin), end_(end) {}
  rocksdb::Status next(cdb_kv_block *block, bool *found);
  // Lets go of RocksDB; what next() gave last stays good.
  void release() { committed_->release_view(); }

 private:
  std::unique_ptr<BlockCursor> committed_;
  std::shared_ptr<const PendingBlocks> pending_;
  size_t next_, end_;
  Bytes spends_, confirms_;  // of the pending block that was read last
};

}  // namespace cdb::rocks_kv
