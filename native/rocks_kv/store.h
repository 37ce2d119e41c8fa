// The database on disk. docs/schemas/rocks_kv.md draws its keys and values.
#pragma once

#include "common/bytes.h"
#include "common/lost_pages.h"
#include "pending.h"

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <string>
#include <vector>

namespace cdb::rocks_kv {

// A name that is looked up, and what the asker calls it.
struct Asked {
  const uint8_t *name;
  size_t tag;
};

// Where a coin is: in which block, and at which position among its confirms.
struct Place {
  size_t tag;
  uint32_t index;
  uint32_t position;
};

inline void copy_confirm(const uint8_t *confirm, cdb_kv_info *info) {
  std::memcpy(info->parent, confirm, sizeof info->parent + sizeof info->puzzle_hash);
  info->amount = load_big_endian(confirm + kAmountAt);
}

// Reads blocks in order from one moment's view of the database.
class BlockCursor {
 public:
  BlockCursor(std::unique_ptr<rocksdb::Iterator> rows, uint32_t first, uint32_t last);
  // Sets *found to whether there is another block, which is good until the next call.
  rocksdb::Status next(cdb_kv_block *block, bool *found);
  // Lets go of the database; what next() gave last stays good.
  void release_view() { rows_.reset(); }

 private:
  rocksdb::Status read_head(size_t *n_confirms);
  rocksdb::Status read_parts(size_t n_confirms);

  std::unique_ptr<rocksdb::Iterator> rows_;
  uint32_t last_;
  bool is_done_ = false;
  cdb_kv_block block_{};
  std::string spends_;
  std::string confirms_;
};

class Store {
 public:
  Store() = default;
  Store(const Store &) = delete;
  Store &operator=(const Store &) = delete;
  ~Store();
  // lost: where pages of tables are noted that can't be read.
  static rocksdb::Status open(const std::string &path, const cdb_kv_options &options,
                              const std::shared_ptr<LostPages> &lost,
                              std::unique_ptr<Store> *store);
  rocksdb::Status close();

  int64_t newest() const { return newest_; }
  int64_t indexed() const { return indexed_; }
  bool is_rewinding() const { return is_rewinding_; }
  uint64_t sequence() const { return db_->GetLatestSequenceNumber(); }
  uint64_t ingestions() const { return ingestions_; }

  // Finds indexed coins by their names, which must be sorted: sets found[tag] to 1 and infos[tag],
  // its spent_index only if the coin is spent.
  rocksdb::Status find(const std::vector<Asked> &sorted, cdb_kv_info *infos, uint8_t *found);
  // Sets what blocks hold of the coins at these places in infos[tag].
  rocksdb::Status read_coins(std::vector<Place> places, cdb_kv_info *infos);
  // Sets *first_bad to the smallest tag of a name that is a coin's (new_names), or that is not an
  // unspent coin's (spends), if that is smaller. Both must be sorted.
  rocksdb::Status check_absent(const std::vector<Asked> &new_names, size_t *first_bad);
  rocksdb::Status check_spendable(const std::vector<Asked> &spends, size_t *first_bad);
  std::unique_ptr<BlockCursor> cursor(uint32_t first, uint32_t last);

  // What is to be known of the parents of indexed coins.
  rocksdb::Status read_parents(Parents *parents);

  // Writes the blocks that are not committed, in one atomic step; they count once set_newest() says
  // so.
  rocksdb::Status commit(const Pending &pending);
  void set_newest(int64_t newest) { newest_ = newest; }
  // Writes where the coins are and what is spent, in one atomic step with indexed().
  rocksdb::Status index(const Pending &pending);
  rocksdb::Status checkpoint();
  rocksdb::Status settle();
  rocksdb::Status verify() { return db_->VerifyChecksum(); }
  // Writes that nothing above the newest block up to this one counts, which it sets *kept to.
  rocksdb::Status begin_rewind(int64_t newest, int64_t *kept);
  void set_rewinding(int64_t kept);
  void set_rewound() { is_rewinding_ = false; }
  rocksdb::Status erase(const Blocks &blocks);
  rocksdb::Status end_rewind();

 private:
  rocksdb::Status open_families(const rocksdb::DBOptions &options, bool read_only);
  std::string manifest_state() const;
  rocksdb::Status load_state();
  rocksdb::Status read_mark(const rocksdb::Slice &key, int64_t *value, bool *is_set);
  rocksdb::Status read_rewards(Parents *parents);
  rocksdb::Status read_newest(int64_t limit, int64_t *newest);
  void release_families();
  rocksdb::Status remove_unfinished_runs();
  rocksdb::Status index_by_runs(const Pending &pending);
  rocksdb::Status ingest(const std::vector<rocksdb::ColumnFamilyHandle *> &families);
  rocksdb::Status write(rocksdb::WriteBatch &batch, bool sync);
  // Takes note of how a write of db_ ended.
  rocksdb::Status written(rocksdb::Status status);
  std::string run_path(const rocksdb::ColumnFamilyHandle *family) const;
  rocksdb::Options options_of(const rocksdb::ColumnFamilyHandle *family) const;
  std::vector<rocksdb::ColumnFamilyDescriptor> families() const;

  std::unique_ptr<rocksdb::Env> env_;  // outlives db_
  std::string path_;
  cdb_kv_options wanted_{};
  rocksdb::DBOptions db_options_;
  rocksdb::ColumnFamilyOptions names_options_;
  rocksdb::ColumnFamilyOptions blocks_options_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle *> handles_;  // owned until close()
  rocksdb::ColumnFamilyHandle *marks_ = nullptr;
  rocksdb::ColumnFamilyHandle *coins_ = nullptr;
  rocksdb::ColumnFamilyHandle *spends_ = nullptr;
  rocksdb::ColumnFamilyHandle *blocks_ = nullptr;
  int64_t newest_ = -1;  // what lies above it is being erased
  int64_t indexed_ = -1;
  bool is_rewinding_ = false;
  uint64_t ingestions_ = 0;
  bool has_failed_ = false;  // a write
};

}  // namespace cdb::rocks_kv
