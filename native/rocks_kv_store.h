// The database on disk. docs/schemas/rocks_kv.md draws its keys and values.
#pragma once

#include "rocks_kv_pending.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/write_batch.h>

#include <memory>
#include <string>
#include <vector>

// A name that is looked up, and what the asker calls it.
struct Asked {
  const uint8_t *name;
  size_t tag;
};

// Where a coin's row is, and which block spent it.
struct Place {
  size_t tag;
  uint32_t index;     // of the block that confirms it
  uint32_t position;  // among that one's confirms
  uint32_t spent_index;
};

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
  static rocksdb::Status open(const std::string &path, const cdb_kv_options &options,
                              std::unique_ptr<Store> *store);
  rocksdb::Status close();

  int64_t newest() const { return newest_; }
  bool is_rewinding() const { return is_rewinding_; }
  uint64_t sequence() const { return db_->GetLatestSequenceNumber(); }
  uint64_t ingestions() const { return ingestions_; }

  // The coins among the names, which must be sorted, in that order.
  rocksdb::Status find(const std::vector<Asked> &sorted, std::vector<Place> *places);
  // The rows of these places: confirms[tag] is set for each.
  rocksdb::Status read_rows(std::vector<Place> places, uint8_t *confirms);
  // Sets *first_bad to the smallest tag of a name that is a coin's (new_names), or that is not an
  // unspent coin's (spends), if that is smaller. Both must be sorted.
  rocksdb::Status check_absent(const std::vector<Asked> &new_names, size_t *first_bad);
  rocksdb::Status check_spendable(const std::vector<Asked> &spends, size_t *first_bad);
  std::unique_ptr<BlockCursor> cursor(uint32_t first, uint32_t last);

  rocksdb::Status commit(const Pending &pending);
  rocksdb::Status settle();
  rocksdb::Status begin_rewind(int64_t newest);
  rocksdb::Status erase(const cdb_kv_blocks &blocks);
  rocksdb::Status end_rewind();

 private:
  rocksdb::Status open_families(const rocksdb::DBOptions &options, bool read_only);
  rocksdb::Status load_state();
  rocksdb::Status read_newest(int64_t limit);
  void release_families();
  void remove_unfinished_runs();
  rocksdb::Status commit_batch(const Pending &pending);
  rocksdb::Status commit_runs(const Pending &pending);
  rocksdb::Status ingest(const std::vector<rocksdb::ColumnFamilyHandle *> &families);
  rocksdb::Status write(rocksdb::WriteBatch &batch, bool sync);
  std::string run_path(const rocksdb::ColumnFamilyHandle *family) const;
  rocksdb::Options options_of(const rocksdb::ColumnFamilyHandle *family) const;
  std::vector<rocksdb::ColumnFamilyDescriptor> families() const;

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
  bool is_rewinding_ = false;
  uint64_t ingestions_ = 0;
};
