// The whole database: what is in memory, in front of what is in RocksDB.
#pragma once

#include "pending.h"
#include "store.h"

namespace cdb::rocks_kv {

// A page that is lost reads as zeros, so whatever came of it is void.
inline rocksdb::Status unless_lost(const LostPages &lost, const rocksdb::Status &status) {
  return lost.any() ? rocksdb::Status::IOError("a page can't be read", lost.file()) : status;
}

class Database {
 public:
  static rocksdb::Status open(const std::string &path, const cdb_kv_options &options,
                              std::unique_ptr<Database> *database);
  rocksdb::Status close() { return store_->close(); }
  const LostPages &lost_pages() const { return *lost_pages_; }
  cdb_kv_state state() const;
  rocksdb::Status accept(const Blocks &chunk, size_t *accepted);
  rocksdb::Status commit();
  rocksdb::Status checkpoint();
  rocksdb::Status settle();
  rocksdb::Status verify() { return store_->verify(); }
  rocksdb::Status find(const uint8_t *names, size_t n, cdb_kv_info *infos, uint8_t *found);
  rocksdb::Status find_block(uint32_t index, cdb_kv_block *block, bool *found);
  std::unique_ptr<BlockCursor> cursor(uint32_t first, uint32_t last);
  rocksdb::Status begin_rewind(int64_t newest);
  rocksdb::Status erase(const Blocks &blocks);
  rocksdb::Status end_rewind();

 private:
  rocksdb::Status restore();
  size_t add_until_bad(const Blocks &chunk, std::vector<size_t> *sizes);
  rocksdb::Status check(size_t first_coin, const std::vector<size_t> &sizes, size_t *first_bad);
  bool find_in_memory(const uint8_t *name, size_t i, cdb_kv_info *info,
                      std::vector<Place> *places) const;
  rocksdb::Status index();
  rocksdb::Status check_may_write() const;
  int64_t newest() const;

  cdb_kv_options options_{};
  std::shared_ptr<LostPages> lost_pages_ = std::make_shared<LostPages>();
  std::unique_ptr<Store> store_;
  Pending pending_;
  std::unique_ptr<BlockCursor> found_block_;  // keeps what find_block gave
};

}  // namespace cdb::rocks_kv
