#include "rocks_kv_store.h"

#include "rocksdb_common.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <future>
#include <utility>

using rocksdb::ColumnFamilyHandle;
using rocksdb::PinnableSlice;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

constexpr size_t kPartCoins = 32;      // confirms in one row of a block
constexpr size_t kBlockKeyBytes = 8;   // index, part; big endian, so that keys sort as numbers
constexpr size_t kHeadBytes = 16;      // timestamp (8), spends (4), confirms (4); then the spends
constexpr size_t kPlaceBytes = 8;      // index (4), position (4)
constexpr size_t kMarkBytes = 8;
constexpr size_t kReadChunk = 1024;    // keys; bounds the blocks that one MultiGet pins
constexpr size_t kMemtableBytes = 32u << 20;
constexpr size_t kLogBytes = 64u << 20;
constexpr int kRunsAtOnce = 8;         // from so many on they are merged
const Slice kRewindKey("rewind");

template <size_t n>
std::array<char, n> big_endian(uint64_t value) {
  std::array<char, n> bytes;
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(value >> (8 * (n - 1 - i)) & 0xff);
  return bytes;
}

template <size_t n>
uint64_t from_big_endian(const char *bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < n; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

uint32_t u32_at(const char *bytes) {
  return static_cast<uint32_t>(from_big_endian<4>(bytes));
}

template <size_t n>
Slice slice(const std::array<char, n> &bytes) {
  return {bytes.data(), n};
}

Slice name_slice(const uint8_t *name) {
  return {reinterpret_cast<const char *>(name), CDB_NAME_BYTES};
}

const char *chars(const uint8_t *bytes) {
  return reinterpret_cast<const char *>(bytes);
}

using BlockKey = std::array<char, kBlockKeyBytes>;

// Part 0 is the block's head; part 1 + k holds its confirms from k * kPartCoins on.
BlockKey block_key(uint64_t index, uint64_t part) {
  return big_endian<kBlockKeyBytes>(index << 32 | part);
}

size_t parts_of(size_t n_confirms) {
  return (n_confirms + kPartCoins - 1) / kPartCoins;
}

std::array<char, kPlaceBytes> place_value(const PendingCoin &coin) {
  return big_endian<kPlaceBytes>(uint64_t{coin.confirmed_index} << 32 | coin.position);
}

// Calls row(key, value) for each row of a block, in the order of keys, until one fails.
template <typename Row>
Status for_each_row(const cdb_kv_block &block, std::string *buffer, Row row) {
  const auto timestamp = big_endian<8>(block.timestamp);
  const auto counts = big_endian<8>(uint64_t{block.n_spends} << 32 | block.n_confirms);
  buffer->assign(timestamp.data(), timestamp.size());
  buffer->append(counts.data(), counts.size());
  buffer->append(chars(block.spends), block.n_spends * CDB_NAME_BYTES);
  Status status = row(slice(block_key(block.index, 0)), Slice(*buffer));
  for (size_t k = 0; status.ok() && k < parts_of(block.n_confirms); ++k) {
    const size_t n = std::min(kPartCoins, block.n_confirms - k * kPartCoins);
    const uint8_t *confirms = block.confirms + k * kPartCoins * CDB_CONFIRM_BYTES;
    status = row(slice(block_key(block.index, 1 + k)), {chars(confirms), n * CDB_CONFIRM_BYTES});
  }
  return status;
}

// The coins that a commit writes, in the order of their names.
std::vector<const PendingCoin *> sorted_if(const Pending &pending,
                                           bool (*is_wanted)(const PendingCoin &)) {
  std::vector<std::pair<uint64_t, const PendingCoin *>> keyed;
  for (const PendingCoin &coin : pending.coins())
    if (is_wanted(coin)) keyed.emplace_back(from_big_endian<8>(chars(coin.name)), &coin);
  std::sort(keyed.begin(), keyed.end(), [](const auto &a, const auto &b) {
    if (a.first != b.first) return a.first < b.first;
    return compare_names(a.second->name, b.second->name) < 0;
  });
  std::vector<const PendingCoin *> sorted(keyed.size());
  std::transform(keyed.begin(), keyed.end(), sorted.begin(),
                 [](const auto &pair) { return pair.second; });
  return sorted;
}

bool is_confirmed(const PendingCoin &coin) {
  return coin.is_confirmed;
}

bool is_spent(const PendingCoin &coin) {
  return coin.spent_index != 0;
}

// Each of these calls put(key, value) in the order of keys, until one fails.
template <typename Put>
Status put_coins(const Pending &pending, Put put) {
  Status status;
  for (const PendingCoin *coin : sorted_if(pending, is_confirmed)) {
    status = put(name_slice(coin->name), slice(place_value(*coin)));
    if (!status.ok()) break;
  }
  return status;
}

template <typename Put>
Status put_spends(const Pending &pending, Put put) {
  Status status;
  for (const PendingCoin *coin : sorted_if(pending, is_spent)) {
    status = put(name_slice(coin->name), slice(big_endian<4>(coin->spent_index)));
    if (!status.ok()) break;
  }
  return status;
}

template <typename Put>
Status put_blocks(const Pending &pending, Put put) {
  std::string buffer;
  Status status;
  for (size_t i = 0; status.ok() && i < pending.blocks().size(); ++i)
    status = for_each_row(pending.block(i), &buffer, put);
  return status;
}

// Looks up keys, which must ascend, and calls found(i, value) for those that are there.
template <typename Found>
Status multi_get(rocksdb::DB &db, const rocksdb::ReadOptions &options, ColumnFamilyHandle *family,
                 const std::vector<Slice> &keys, Found found) {
  std::vector<Status> statuses(std::min(keys.size(), kReadChunk));
  for (size_t done = 0; done < keys.size(); done += kReadChunk) {
    const size_t n = std::min(kReadChunk, keys.size() - done);
    std::vector<PinnableSlice> values(n);
    db.MultiGet(options, family, n, keys.data() + done, values.data(), statuses.data(),
                /*sorted_input=*/true);
    for (size_t i = 0; i < n; ++i) {
      Status status = statuses[i];
      if (status.ok()) status = found(done + i, values[i]);
      if (!status.ok() && !status.IsNotFound()) return status;
    }
  }
  return Status::OK();
}

// What a check has read, nobody is likely to ask for soon.
rocksdb::ReadOptions checking() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  return options;
}

template <typename T, typename NameOf>
std::vector<Slice> keys_of(const std::vector<T> &all, NameOf name_of) {
  std::vector<Slice> keys(all.size());
  std::transform(all.begin(), all.end(), keys.begin(),
                 [&](const T &one) { return name_slice(name_of(one)); });
  return keys;
}

const uint8_t *name_of(const Asked &asked) {
  return asked.name;
}

// A sorted run in a file of its own, which is made with its first row.
class Run {
 public:
  Run(const rocksdb::Options &options, ColumnFamilyHandle *family, std::string path)
      : writer_(rocksdb::EnvOptions(), options, family), path_(std::move(path)) {}
  bool empty() const { return is_empty_; }
  Status finish() { return is_empty_ ? Status::OK() : writer_.Finish(); }
  auto put() {
    return [this](const Slice &key, const Slice &value) { return add(key, value); };
  }

 private:
  Status add(const Slice &key, const Slice &value) {
    const Status status = is_empty_ ? writer_.Open(path_) : Status::OK();
    is_empty_ = false;
    return status.ok() ? writer_.Put(key, value) : status;
  }

  rocksdb::SstFileWriter writer_;
  std::string path_;
  bool is_empty_ = true;
};

rocksdb::DBOptions db_options_for(const cdb_kv_options &wanted) {
  rocksdb::DBOptions options;
  options.create_if_missing = wanted.create != 0;
  options.create_missing_column_families = wanted.create != 0;
  options.paranoid_checks = true;
  options.max_background_jobs = 2;
  options.bytes_per_sync = 1u << 20;
  options.max_total_wal_size = kLogBytes;
  options.max_bgerror_resume_count = 0;  // what has failed stays failed until it is reopened
  options.info_log = std::make_shared<SilentLogger>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

rocksdb::ColumnFamilyOptions family_options(const rocksdb::BlockBasedTableOptions &table) {
  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = rocksdb::kNoCompression;  // nearly all is hashes
  options.write_buffer_size = kMemtableBytes;
  return options;
}

// Names are random, so every run of them covers all keys, and levels of runs that overlap
// wholly would be rewritten at each merge. Universal compaction merges runs of like size.
rocksdb::ColumnFamilyOptions names_options_for(rocksdb::BlockBasedTableOptions table) {
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::ColumnFamilyOptions options = family_options(table);
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.memtable_whole_key_filtering = true;
  options.memtable_prefix_bloom_size_ratio = 0.02;
  options.level0_file_num_compaction_trigger = kRunsAtOnce;
  options.level0_slowdown_writes_trigger = 5 * kRunsAtOnce;
  options.level0_stop_writes_trigger = 8 * kRunsAtOnce;
  return options;
}

}  // namespace

BlockCursor::BlockCursor(std::unique_ptr<rocksdb::Iterator> rows, uint32_t first, uint32_t last)
    : rows_(std::move(rows)), last_(last) {
  rows_->Seek(slice(block_key(first, 0)));
}

Status BlockCursor::next(cdb_kv_block *block, bool *found) {
  *found = false;
  if (!rows_->Valid()) return rows_->status();
  if (rows_->key().size() != kBlockKeyBytes) return Status::Corruption("a block's key is cut");
  if (u32_at(rows_->key().data()) > last_) return Status::OK();
  size_t n_confirms = 0;
  Status status = read_head(&n_confirms);
  if (status.ok()) status = read_parts(n_confirms);
  if (!status.ok()) return status;
  *block = block_;
  *found = true;
  return status;
}

Status BlockCursor::read_head(size_t *n_confirms) {
  const Slice key = rows_->key();
  const Slice value = rows_->value();
  block_.index = u32_at(key.data());
  if (u32_at(key.data() + 4) != 0) return Status::Corruption("a block has no head");
  if (value.size() < kHeadBytes) return Status::Corruption("a block's head is cut");
  block_.timestamp = from_big_endian<8>(value.data());
  block_.n_spends = u32_at(value.data() + 8);
  *n_confirms = u32_at(value.data() + 12);
  if (value.size() != kHeadBytes + block_.n_spends * CDB_NAME_BYTES)
    return Status::Corruption("a block's spends are cut");
  spends_.assign(value.data() + kHeadBytes, value.size() - kHeadBytes);
  block_.spends = reinterpret_cast<const uint8_t *>(spends_.data());
  return Status::OK();
}

// Leaves the iterator at the next block.
Status BlockCursor::read_parts(size_t n_confirms) {
  confirms_.clear();
  const size_t n_parts = parts_of(n_confirms);
  for (size_t k = 0; k < n_parts; ++k) {
    rows_->Next();
    if (!rows_->Valid() || rows_->key() != slice(block_key(block_.index, 1 + k)))
      return rows_->status().ok() ? Status::Corruption("a part of a block is missing")
                                  : rows_->status();
    confirms_.append(rows_->value().data(), rows_->value().size());
  }
  if (confirms_.size() != n_confirms * CDB_CONFIRM_BYTES)
    return Status::Corruption("a block's confirms are cut");
  block_.n_confirms = n_confirms;
  block_.confirms = reinterpret_cast<const uint8_t *>(confirms_.data());
  rows_->Next();
  return Status::OK();
}

Status Store::open(const std::string &path, const cdb_kv_options &wanted,
                   std::unique_ptr<Store> *store) {
  auto opened = std::make_unique<Store>();
  opened->path_ = path;
  opened->wanted_ = wanted;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(wanted.cache_bytes);
  opened->db_options_ = db_options_for(wanted);
  opened->names_options_ = names_options_for(table);
  opened->blocks_options_ = family_options(table);
  const bool read_only = wanted.read_only != 0;
  if (wanted.create == 0 && opened->db_options_.env->FileExists(path + "/CURRENT").IsNotFound())
    return Status::NotFound("it has no file CURRENT");
  if (!read_only) opened->remove_unfinished_runs();
  Status status = opened->open_families(opened->db_options_, read_only);
  // A column family is missing, or a file that another one names.
  if (status.IsInvalidArgument() || status.IsPathNotFound())
    status = Status::Corruption(status.ToString());
  if (status.ok()) status = opened->load_state();
  if (status.ok()) *store = std::move(opened);
  return status;
}

std::vector<rocksdb::ColumnFamilyDescriptor> Store::families() const {
  return {{rocksdb::kDefaultColumnFamilyName, blocks_options_},
          {"coins", names_options_},
          {"spends", names_options_},
          {"blocks", blocks_options_}};
}

Status Store::open_families(const rocksdb::DBOptions &options, bool read_only) {
  rocksdb::DB *db = nullptr;
  const Status status =
      read_only ? rocksdb::DB::OpenForReadOnly(options, path_, families(), &handles_, &db)
                : rocksdb::DB::Open(options, path_, families(), &handles_, &db);
  db_.reset(db);
  if (!status.ok()) return status;
  marks_ = handles_[0];
  coins_ = handles_[1];
  spends_ = handles_[2];
  blocks_ = handles_[3];
  return status;
}

Status Store::load_state() {
  std::string mark;
  const Status status = db_->Get({}, marks_, kRewindKey, &mark);
  if (status.IsNotFound()) return read_newest(int64_t{UINT32_MAX});
  if (!status.ok()) return status;
  if (mark.size() != kMarkBytes) return Status::Corruption("the mark of a rewind is cut");
  is_rewinding_ = true;
  return read_newest(static_cast<int64_t>(from_big_endian<kMarkBytes>(mark.data())));
}

// The newest block is the last key: there is no second place that could disagree.
Status Store::read_newest(int64_t limit) {
  newest_ = -1;
  if (limit < 0) return Status::OK();
  const std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator({}, blocks_));
  rows->SeekForPrev(slice(block_key(static_cast<uint64_t>(limit), UINT32_MAX)));
  if (!rows->Valid()) return rows->status();
  if (rows->key().size() != kBlockKeyBytes) return Status::Corruption("a block's key is cut");
  newest_ = u32_at(rows->key().data());
  return Status::OK();
}

Store::~Store() {
  release_families();
}

Status Store::close() {
  release_families();
  return db_->Close();
}

// Must come before the database goes.
void Store::release_families() {
  for (ColumnFamilyHandle *handle : handles_) delete handle;
  handles_.clear();
}

Status Store::find(const std::vector<Asked> &sorted, std::vector<Place> *places) {
  std::vector<const uint8_t *> found;
  Status status = multi_get(
      *db_, {}, coins_, keys_of(sorted, name_of), [&](size_t i, const PinnableSlice &value) {
        if (value.size() != kPlaceBytes) return Status::Corruption("a coin's place is cut");
        const Place place{sorted[i].tag, u32_at(value.data()), u32_at(value.data() + 4), 0};
        if (int64_t{place.index} > newest_) return Status::OK();
        places->push_back(place);
        found.push_back(sorted[i].name);
        return Status::OK();
      });
  if (!status.ok()) return status;
  const auto keys = keys_of(found, [](const uint8_t *name) { return name; });
  return multi_get(*db_, {}, spends_, keys, [&](size_t i, const PinnableSlice &value) {
    if (value.size() != 4) return Status::Corruption("a spent index is cut");
    const uint32_t spent_index = u32_at(value.data());
    if (int64_t{spent_index} <= newest_) (*places)[i].spent_index = spent_index;
    return Status::OK();
  });
}

Status Store::read_rows(std::vector<Place> places, uint8_t *confirms) {
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) {
    return a.index != b.index ? a.index < b.index : a.position < b.position;
  });
  std::vector<BlockKey> parts;
  std::vector<size_t> first_places;  // of each part
  for (size_t i = 0; i < places.size(); ++i) {
    const BlockKey part = block_key(places[i].index, 1 + places[i].position / kPartCoins);
    if (!parts.empty() && parts.back() == part) continue;
    parts.push_back(part);
    first_places.push_back(i);
  }
  first_places.push_back(places.size());
  size_t n_read = 0;
  std::vector<Slice> keys(parts.size());
  std::transform(parts.begin(), parts.end(), keys.begin(), slice<kBlockKeyBytes>);
  const auto copy = [&](size_t k, const PinnableSlice &part) {
    for (size_t i = first_places[k]; i < first_places[k + 1]; ++i, ++n_read) {
      const size_t offset = places[i].position % kPartCoins * CDB_CONFIRM_BYTES;
      if (offset + CDB_CONFIRM_BYTES > part.size()) return Status::Corruption("a block is cut");
      std::memcpy(confirms + places[i].tag * CDB_CONFIRM_BYTES, part.data() + offset,
                  CDB_CONFIRM_BYTES);
    }
    return Status::OK();
  };
  const Status status = multi_get(*db_, {}, blocks_, keys, copy);
  if (status.ok() && n_read != places.size())
    return Status::Corruption("a coin's block is missing");
  return status;
}

Status Store::check_absent(const std::vector<Asked> &new_names, size_t *first_bad) {
  const auto found = [&](size_t i, const PinnableSlice &) {
    *first_bad = std::min(*first_bad, new_names[i].tag);
    return Status::OK();
  };
  return multi_get(*db_, checking(), coins_, keys_of(new_names, name_of), found);
}

Status Store::check_spendable(const std::vector<Asked> &spends, size_t *first_bad) {
  const auto keys = keys_of(spends, name_of);
  std::vector<bool> is_spendable(spends.size());
  const auto found = [&](bool value) {
    return [&is_spendable, value](size_t i, const PinnableSlice &) {
      is_spendable[i] = value;
      return Status::OK();
    };
  };
  Status status = multi_get(*db_, checking(), coins_, keys, found(true));
  if (status.ok()) status = multi_get(*db_, checking(), spends_, keys, found(false));
  for (size_t i = 0; i < spends.size(); ++i)
    if (!is_spendable[i]) *first_bad = std::min(*first_bad, spends[i].tag);
  return status;
}

std::unique_ptr<BlockCursor> Store::cursor(uint32_t first, uint32_t last) {
  std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator({}, blocks_));
  return std::make_unique<BlockCursor>(std::move(rows), first, last);
}

Status Store::commit(const Pending &pending) {
  if (pending.empty()) return Status::OK();
  const bool is_large = pending.entries() >= wanted_.ingest_entries;
  const Status status = is_large ? commit_runs(pending) : commit_batch(pending);
  if (status.ok()) newest_ = pending.blocks().back().index;
  return status;
}

Status Store::commit_batch(const Pending &pending) {
  rocksdb::WriteBatch batch;
  const auto put_into = [&batch](ColumnFamilyHandle *family) {
    return [&batch, family](const Slice &key, const Slice &value) {
      return batch.Put(family, key, value);
    };
  };
  Status status = put_coins(pending, put_into(coins_));
  if (status.ok()) status = put_spends(pending, put_into(spends_));
  if (status.ok()) status = put_blocks(pending, put_into(blocks_));
  return status.ok() ? write(batch, wanted_.sync != 0) : status;
}

Status Store::commit_runs(const Pending &pending) {
  Run coins(options_of(coins_), coins_, run_path(coins_));
  Run spends(options_of(spends_), spends_, run_path(spends_));
  Run blocks(options_of(blocks_), blocks_, run_path(blocks_));
  std::future<Status> coins_built = std::async(std::launch::async, [&] {
    const Status status = put_coins(pending, coins.put());
    return status.ok() ? coins.finish() : status;
  });
  Status status = put_blocks(pending, blocks.put());
  if (status.ok()) status = blocks.finish();
  if (status.ok()) status = put_spends(pending, spends.put());
  if (status.ok()) status = spends.finish();
  const Status coins_status = coins_built.get();
  if (status.ok()) status = coins_status;
  if (!status.ok()) return status;
  std::vector<ColumnFamilyHandle *> families{blocks_};
  if (!coins.empty()) families.push_back(coins_);
  if (!spends.empty()) families.push_back(spends_);
  return ingest(families);
}

// One record of the manifest takes in all runs, so a crash leaves all of them or none.
Status Store::ingest(const std::vector<ColumnFamilyHandle *> &families) {
  // What is in the log must not be lost when this, which comes later, is kept.
  Status status = wanted_.sync != 0 ? Status::OK() : db_->SyncWAL();
  if (!status.ok()) return status;
  std::vector<rocksdb::IngestExternalFileArg> arguments;
  for (ColumnFamilyHandle *family : families) {
    rocksdb::IngestExternalFileArg argument;
    argument.column_family = family;
    argument.external_files = {run_path(family)};
    argument.options.move_files = true;
    argument.options.write_global_seqno = false;
    arguments.push_back(argument);
  }
  status = db_->IngestExternalFiles(arguments);
  if (status.ok()) ++ingestions_;
  return status;
}

// RocksDB keeps no file of such a name, and leaves it alone.
std::string Store::run_path(const ColumnFamilyHandle *family) const {
  return path_ + "/unfinished-" + const_cast<ColumnFamilyHandle *>(family)->GetName();
}

void Store::remove_unfinished_runs() {
  for (const auto &family : families())
    std::remove((path_ + "/unfinished-" + family.name).c_str());
}

rocksdb::Options Store::options_of(const ColumnFamilyHandle *family) const {
  return {db_options_, family == blocks_ ? blocks_options_ : names_options_};
}

Status Store::settle() {
  return db_->Flush(rocksdb::FlushOptions(), handles_);
}

Status Store::begin_rewind(int64_t newest) {
  const auto mark = big_endian<kMarkBytes>(static_cast<uint64_t>(newest));
  rocksdb::WriteBatch batch;
  Status status = batch.Put(marks_, kRewindKey, slice(mark));
  if (status.ok()) status = write(batch, wanted_.sync != 0);
  if (!status.ok()) return status;
  is_rewinding_ = true;
  return read_newest(newest);
}

Status Store::erase(const cdb_kv_blocks &blocks) {
  if (!is_rewinding_) return Status::InvalidArgument("erase outside a rewind");
  rocksdb::WriteBatch batch;
  Status status;
  uint64_t confirm_end = 0, spend_end = 0;
  for (size_t b = 0; status.ok() && b < blocks.n_blocks; ++b) {
    if (static_cast<int64_t>(blocks.indices[b]) <= newest_)
      return Status::InvalidArgument("erase of a block that is kept");
    const size_t n_parts = parts_of(static_cast<size_t>(blocks.confirm_ends[b] - confirm_end));
    for (size_t part = 0; status.ok() && part <= n_parts; ++part)
      status = batch.Delete(blocks_, slice(block_key(blocks.indices[b], part)));
    for (; status.ok() && confirm_end < blocks.confirm_ends[b]; ++confirm_end)
      status = batch.Delete(coins_, name_slice(blocks.names + confirm_end * CDB_NAME_BYTES));
    for (; status.ok() && spend_end < blocks.spend_ends[b]; ++spend_end)
      status = batch.Delete(spends_, name_slice(blocks.spends + spend_end * CDB_NAME_BYTES));
  }
  return status.ok() ? write(batch, /*sync=*/false) : status;
}

Status Store::end_rewind() {
  rocksdb::WriteBatch batch;
  Status status = batch.Delete(marks_, kRewindKey);
  if (status.ok()) status = write(batch, wanted_.sync != 0);
  if (status.ok()) is_rewinding_ = false;
  return status;
}

Status Store::write(rocksdb::WriteBatch &batch, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  return db_->Write(options, &batch);
}
