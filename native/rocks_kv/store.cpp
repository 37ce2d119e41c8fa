#include "store.h"

#include "log_file.h"
#include "mapped_tables.h"
#include "rocksdb/common.h"
#include "rocksdb/files.h"
#include "rocksdb/turns.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <future>
#include <memory>
#include <utility>

namespace cdb::rocks_kv {

using rocksdb::ColumnFamilyHandle;
using rocksdb::PinnableSlice;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

constexpr size_t kPartCoins = 32;     // confirms in one row of a block
constexpr size_t kBlockKeyBytes = 8;  // index, part; big endian, so that keys sort as numbers
constexpr size_t kHeadBytes = 16;     // timestamp (8), spends (4), confirms (4); then the spends
constexpr size_t kPlaceBytes = 8;     // index (4), position (4)
constexpr size_t kSpendBytes = 4;     // index
constexpr size_t kMarkBytes = 8;
constexpr unsigned kDigitBits = 11;
constexpr unsigned kDigits = 2;
constexpr uint32_t kDigitValues = 1u << kDigitBits;
constexpr size_t kPrefetched = 16;   // coins
constexpr size_t kReadChunk = 1024;  // keys; bounds the blocks that one MultiGet pins
constexpr size_t kMemtableBytes = 32u << 20;
constexpr size_t kLogBytes = 64u << 20;
constexpr int kRunsAtOnce = 8;  // from so many on they are merged
const Slice kRewindKey("rewind");
const Slice kIndexedKey("indexed");
const Slice kRewardsKey("rewards");
const Slice kEarlyKey("early");  // the parent's leading bytes (8) follow
constexpr size_t kEarlyKeyBytes = 5 + 8;
constexpr size_t kRewardBytes = 20;  // kind (16), height (4)

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

uint32_t u32_at(const char *bytes) { return static_cast<uint32_t>(from_big_endian<4>(bytes)); }

template <size_t n>
Slice slice(const std::array<char, n> &bytes) {
  return {bytes.data(), n};
}

Slice name_slice(const uint8_t *name) { return {reinterpret_cast<const char *>(name), kNameBytes}; }

const char *chars(const uint8_t *bytes) { return reinterpret_cast<const char *>(bytes); }

using BlockKey = std::array<char, kBlockKeyBytes>;

// Part 0 is the block's head; part 1 + k holds its confirms from k * kPartCoins on.
BlockKey block_key(uint64_t index, uint64_t part) {
  return big_endian<kBlockKeyBytes>(index << 32 | part);
}

size_t parts_of(size_t n_confirms) { return (n_confirms + kPartCoins - 1) / kPartCoins; }

std::array<char, kMarkBytes> mark_value(int64_t index) {
  return big_endian<kMarkBytes>(static_cast<uint64_t>(index));
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
  buffer->append(chars(block.spends), block.n_spends * kNameBytes);
  Status status = row(slice(block_key(block.index, 0)), Slice(*buffer));
  for (size_t k = 0; status.ok() && k < parts_of(block.n_confirms); ++k) {
    const size_t n = std::min(kPartCoins, block.n_confirms - k * kPartCoins);
    const uint8_t *confirms = block.confirms + k * kPartCoins * kConfirmBytes;
    status = row(slice(block_key(block.index, 1 + k)), {chars(confirms), n * kConfirmBytes});
  }
  return status;
}

struct Keyed {
  uint32_t head;      // of the coin's name
  uint32_t position;  // among the coins
};

// Sorts by the leading digits of heads, from the last of these digits to the first.
void sort_by_digits(std::vector<Keyed> *all) {
  std::vector<Keyed> sorted(all->size());
  for (unsigned shift = 32 - kDigits * kDigitBits; shift < 32; shift += kDigitBits) {
    const auto digit = [shift](const Keyed &one) { return one.head >> shift & (kDigitValues - 1); };
    std::array<size_t, kDigitValues> next{};
    for (const Keyed &one : *all) ++next[digit(one)];
    size_t start = 0;
    for (size_t &place : next) start += std::exchange(place, start);
    for (const Keyed &one : *all) sorted[next[digit(one)]++] = one;
    all->swap(sorted);
  }
}

// Names are hashes: once their leading digits are in order, hardly two are left to be compared.
void sort_by_name(const std::vector<PendingCoin> &coins, std::vector<Keyed> *all) {
  sort_by_digits(all);
  const auto leading = [](const Keyed &one) { return one.head >> (32 - kDigits * kDigitBits); };
  for (auto first = all->begin(); first != all->end();) {
    auto last = first + 1;
    while (last != all->end() && leading(*last) == leading(*first)) ++last;
    if (last - first > 1)
      std::sort(first, last, [&coins](const Keyed &a, const Keyed &b) {
        return compare_names(coins[a.position].name, coins[b.position].name) < 0;
      });
    first = last;
  }
}

// Calls row(coin) for each coin that is wanted, in the order of names, until one fails.
template <typename IsWanted, typename Row>
Status for_each_sorted(const std::vector<PendingCoin> &coins, IsWanted is_wanted, Row row) {
  std::vector<Keyed> sorted;
  sorted.reserve(coins.size());
  for (uint32_t i = 0; i < coins.size(); ++i)
    if (is_wanted(coins[i])) sorted.push_back({u32_at(chars(coins[i].name)), i});
  sort_by_name(coins, &sorted);
  Status status;
  for (size_t i = 0; status.ok() && i < sorted.size(); ++i) {
    if (i + kPrefetched < sorted.size())
      __builtin_prefetch(&coins[sorted[i + kPrefetched].position]);
    status = row(coins[sorted[i].position]);
  }
  return status;
}

bool is_confirmed(const PendingCoin &coin) { return coin.is_confirmed; }

bool is_spent(const PendingCoin &coin) { return coin.spent_index != 0; }

// Each of these calls put(key, value) in the order of keys, until one fails.
template <typename Put>
Status put_coins(const Pending &pending, Put put) {
  return for_each_sorted(pending.coins(), is_confirmed, [&put](const PendingCoin &coin) {
    return put(name_slice(coin.name), slice(place_value(coin)));
  });
}

template <typename Put>
Status put_spends(const Pending &pending, Put put) {
  return for_each_sorted(pending.coins(), is_spent, [&put](const PendingCoin &coin) {
    return put(name_slice(coin.name), slice(big_endian<kSpendBytes>(coin.spent_index)));
  });
}

// Of the early children that are not indexed, ascending.
std::vector<uint64_t> early_heads(const Parents &parents) {
  std::vector<uint64_t> heads;
  for (const Parents::EarlyChild &child : parents.early_children()) heads.push_back(child.head);
  std::sort(heads.begin(), heads.end());
  return heads;
}

template <typename Put>
Status put_marks(const Pending &pending, int64_t indexed, Put put) {
  Status status;
  for (const uint64_t head : early_heads(pending.parents()))
    if (status.ok()) status = put(kEarlyKey.ToString() + slice(big_endian<8>(head)).ToString(), {});
  if (status.ok()) status = put(kIndexedKey, slice(mark_value(indexed)));
  std::string rewards;
  for (const RewardParents::Highest &reward : pending.parents().rewards()) {
    rewards.append(chars(reward.kind.data()), reward.kind.size());
    rewards.append(slice(big_endian<4>(reward.height)).ToString());
  }
  return status.ok() ? put(kRewardsKey, rewards) : status;
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
  const ReadingInPlace in_place;
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

// For what nobody is likely to ask for again soon.
rocksdb::ReadOptions unlikely_again() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  return options;
}

std::vector<Slice> keys_of(const std::vector<Asked> &all) {
  std::vector<Slice> keys(all.size());
  std::transform(all.begin(), all.end(), keys.begin(),
                 [](const Asked &asked) { return name_slice(asked.name); });
  return keys;
}

auto put_into(rocksdb::WriteBatch *batch, ColumnFamilyHandle *family) {
  return [batch, family](const Slice &key, const Slice &value) {
    return batch->Put(family, key, value);
  };
}

// A sorted run in a file of its own, which is made with its first row.
Status remove_if_there(const std::string &path) {
  if (std::remove(path.c_str()) == 0 || errno == ENOENT) return Status::OK();
  return Status::IOError("can't remove " + path, std::strerror(errno));
}

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
    const Status status = is_empty_ ? open() : Status::OK();
    is_empty_ = false;
    return status.ok() ? writer_.Put(key, value) : status;
  }

  // A file that is there may be a hard link of a run that was ingested: it must not be written
  // over.
  Status open() {
    const Status status = remove_if_there(path_);
    return status.ok() ? writer_.Open(path_) : status;
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
  // See rocks_kv_mapped_tables.h. A new database is about to be loaded, which reads little, and
  // mapped pages count as its memory.
  options.allow_mmap_reads = wanted.create == 0;
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
  if (is_done_) return Status::OK();
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
  if (value.size() != kHeadBytes + block_.n_spends * kNameBytes)
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
  if (confirms_.size() != n_confirms * kConfirmBytes)
    return Status::Corruption("a block's confirms are cut");
  block_.n_confirms = n_confirms;
  block_.confirms = reinterpret_cast<const uint8_t *>(confirms_.data());
  // Not Next: RocksDB before 8.6 takes a file that is damaged where it begins for the end.
  is_done_ = block_.index >= last_;
  if (!is_done_) rows_->Seek(slice(block_key(block_.index + 1, 0)));
  return Status::OK();
}

Status Store::open(const std::string &path, const cdb_kv_options &wanted,
                   const std::shared_ptr<LostPages> &lost, std::unique_ptr<Store> *store) {
  auto opened = std::make_unique<Store>();
  opened->path_ = path;
  opened->wanted_ = wanted;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(wanted.cache_bytes);
  std::shared_ptr<rocksdb::FileSystem> files = std::make_shared<CarefulFiles>(
      std::make_shared<MappedTables>(rocksdb::FileSystem::Default(), lost));
  if (wanted.sync != 0) files = std::make_shared<ZeroedLogs>(files);
  opened->env_ = rocksdb::NewCompositeEnv(files);
  opened->db_options_ = db_options_for(wanted);
  opened->db_options_.env = opened->env_.get();
  opened->names_options_ = names_options_for(table);
  opened->blocks_options_ = family_options(table);
  const bool read_only = wanted.read_only != 0;
  if (wanted.create == 0 && opened->db_options_.env->FileExists(path + "/CURRENT").IsNotFound())
    return Status::NotFound("it has no file CURRENT");
  Status status = read_only ? Status::OK() : opened->remove_unfinished_runs();
  if (status.ok()) status = opened->open_families(opened->db_options_, read_only);
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
  std::unique_ptr<Turn> turn;
  if (read_only) turn = std::make_unique<Turn>(path_, LOCK_SH);
  const std::string manifest = read_only ? manifest_state() : "";
  const Status status =
      read_only ? rocksdb::DB::OpenForReadOnly(options, path_, families(), &handles_, &db)
                : rocksdb::DB::Open(options, path_, families(), &handles_, &db);
  db_.reset(db);
  if (!status.ok()) return status;
  marks_ = handles_[0];
  coins_ = handles_[1];
  spends_ = handles_[2];
  blocks_ = handles_[3];
  // The logs are read after the manifest. What a writer moves from there to tables meanwhile, or
  // takes in before it goes on in the log, would be missing in the middle.
  if (read_only && manifest_state() != manifest)
    return Status::TryAgain("a writer changed it while it was opened");
  return status;
}

// Which manifest counts and how long it is, as nothing is ever changed in it.
std::string Store::manifest_state() const {
  std::string name;
  uint64_t length = 0;
  rocksdb::Env *const env = db_options_.env;
  if (!rocksdb::ReadFileToString(env, path_ + "/CURRENT", &name).ok()) return "";
  const std::string path = path_ + "/" + name.substr(0, name.find('\n'));
  return env->GetFileSize(path, &length).ok() ? name + std::to_string(length) : "";
}

Status Store::load_state() {
  int64_t limit = UINT32_MAX;
  bool is_indexed = false;
  Status status = read_mark(kRewindKey, &limit, &is_rewinding_);
  if (status.ok()) status = read_mark(kIndexedKey, &indexed_, &is_indexed);
  if (status.ok()) status = read_newest(limit, &newest_);
  if (status.ok() && indexed_ > newest_)
    return Status::Corruption("blocks are missing whose coins are indexed");
  return status;
}

// Leaves *value as it is where there is no such mark.
Status Store::read_mark(const Slice &key, int64_t *value, bool *is_set) {
  std::string mark;
  const Status status = db_->Get({}, marks_, key, &mark);
  *is_set = status.ok();
  if (status.IsNotFound()) return Status::OK();
  if (status.ok() && mark.size() != kMarkBytes) return Status::Corruption("a mark is cut");
  if (status.ok()) *value = static_cast<int64_t>(from_big_endian<kMarkBytes>(mark.data()));
  return status;
}

Status Store::read_parents(Parents *parents) {
  const std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator({}, marks_));
  for (rows->Seek(kEarlyKey); rows->Valid() && rows->key().starts_with(kEarlyKey); rows->Next()) {
    if (rows->key().size() != kEarlyKeyBytes) return Status::Corruption("a mark is cut");
    parents->add_early(0, from_big_endian<8>(rows->key().data() + kEarlyKey.size()));
  }
  parents->forget_rows();
  return rows->status().ok() ? read_rewards(parents) : rows->status();
}

Status Store::read_rewards(Parents *parents) {
  std::string mark;
  const Status status = db_->Get({}, marks_, kRewardsKey, &mark);
  if (status.IsNotFound()) return Status::OK();
  if (!status.ok()) return status;
  if (mark.size() % kRewardBytes != 0) return Status::Corruption("a mark is cut");
  std::vector<RewardParents::Highest> rewards(mark.size() / kRewardBytes);
  for (size_t i = 0; i < rewards.size(); ++i) {
    const char *const bytes = mark.data() + i * kRewardBytes;
    std::copy_n(bytes, rewards[i].kind.size(), rewards[i].kind.begin());
    rewards[i].height = u32_at(bytes + rewards[i].kind.size());
  }
  parents->restore_rewards(rewards);
  return status;
}

// The newest block is the last key: there is no second place that could disagree.
Status Store::read_newest(int64_t limit, int64_t *newest) {
  *newest = -1;
  if (limit < 0) return Status::OK();
  const std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator({}, blocks_));
  rows->SeekForPrev(slice(block_key(static_cast<uint64_t>(limit), UINT32_MAX)));
  if (!rows->Valid()) return rows->status();
  if (rows->key().size() != kBlockKeyBytes) return Status::Corruption("a block's key is cut");
  *newest = u32_at(rows->key().data());
  return Status::OK();
}

Store::~Store() { release_families(); }

// After a failed write RocksDB says once more that there was one, which would hide why.
Status Store::close() {
  release_families();
  const Status status = db_->Close();
  return has_failed_ ? Status::OK() : status;
}

// Must come before the database goes.
void Store::release_families() {
  for (ColumnFamilyHandle *handle : handles_) delete handle;
  handles_.clear();
}

Status Store::find(const std::vector<Asked> &sorted, cdb_kv_info *infos, uint8_t *found) {
  std::vector<Asked> coins;
  std::vector<Place> places;
  const auto take_place = [&](size_t i, const PinnableSlice &value) {
    if (value.size() != kPlaceBytes) return Status::Corruption("a coin's place is cut");
    const Place place{sorted[i].tag, u32_at(value.data()), u32_at(value.data() + 4)};
    if (int64_t{place.index} > newest_) return Status::OK();
    found[place.tag] = 1;
    infos[place.tag].confirmed_index = place.index;
    places.push_back(place);
    coins.push_back(sorted[i]);
    return Status::OK();
  };
  const auto take_spend = [&](size_t i, const PinnableSlice &value) {
    if (value.size() != kSpendBytes) return Status::Corruption("a spent index is cut");
    const uint32_t spent_index = u32_at(value.data());
    if (int64_t{spent_index} <= newest_) infos[coins[i].tag].spent_index = spent_index;
    return Status::OK();
  };
  Status status = multi_get(*db_, {}, coins_, keys_of(sorted), take_place);
  if (status.ok()) status = multi_get(*db_, {}, spends_, keys_of(coins), take_spend);
  return status.ok() ? read_coins(std::move(places), infos) : status;
}

Status Store::read_coins(std::vector<Place> places, cdb_kv_info *infos) {
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
      const size_t offset = places[i].position % kPartCoins * kConfirmBytes;
      if (offset + kConfirmBytes > part.size()) return Status::Corruption("a block is cut");
      copy_confirm(reinterpret_cast<const uint8_t *>(part.data()) + offset, &infos[places[i].tag]);
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
  return multi_get(*db_, unlikely_again(), coins_, keys_of(new_names), found);
}

Status Store::check_spendable(const std::vector<Asked> &spends, size_t *first_bad) {
  const auto keys = keys_of(spends);
  std::vector<bool> is_spendable(spends.size());
  const auto found = [&](bool value) {
    return [&is_spendable, value](size_t i, const PinnableSlice &) {
      is_spendable[i] = value;
      return Status::OK();
    };
  };
  Status status = multi_get(*db_, unlikely_again(), coins_, keys, found(true));
  if (status.ok()) status = multi_get(*db_, unlikely_again(), spends_, keys, found(false));
  for (size_t i = 0; i < spends.size(); ++i)
    if (!is_spendable[i]) *first_bad = std::min(*first_bad, spends[i].tag);
  return status;
}

std::unique_ptr<BlockCursor> Store::cursor(uint32_t first, uint32_t last) {
  std::unique_ptr<rocksdb::Iterator> rows(db_->NewIterator(unlikely_again(), blocks_));
  return std::make_unique<BlockCursor>(std::move(rows), first, last);
}

Status Store::commit(const Pending &pending) {
  if (pending.blocks().empty()) return Status::OK();
  Status status;
  if (pending.block_entries() >= wanted_.ingest_entries) {
    Run blocks(options_of(blocks_), blocks_, run_path(blocks_));
    status = put_blocks(pending, blocks.put());
    if (status.ok()) status = blocks.finish();
    if (status.ok()) status = ingest({blocks_});
  } else {
    rocksdb::WriteBatch batch;
    status = put_blocks(pending, put_into(&batch, blocks_));
    if (status.ok()) status = write(batch, wanted_.sync != 0);
  }
  return status;
}

Status Store::index(const Pending &pending) {
  Status status;
  if (pending.coins().size() >= wanted_.ingest_entries) {
    status = index_by_runs(pending);
  } else {
    rocksdb::WriteBatch batch;
    status = put_coins(pending, put_into(&batch, coins_));
    if (status.ok()) status = put_spends(pending, put_into(&batch, spends_));
    if (status.ok()) status = put_marks(pending, newest_, put_into(&batch, marks_));
    if (status.ok()) status = write(batch, wanted_.sync != 0);
  }
  if (status.ok()) indexed_ = newest_;
  return status;
}

Status Store::index_by_runs(const Pending &pending) {
  Run coins(options_of(coins_), coins_, run_path(coins_));
  Run spends(options_of(spends_), spends_, run_path(spends_));
  Run marks(options_of(marks_), marks_, run_path(marks_));
  std::future<Status> coins_built = std::async(std::launch::async, [&] {
    const Status status = put_coins(pending, coins.put());
    return status.ok() ? coins.finish() : status;
  });
  Status status = put_spends(pending, spends.put());
  if (status.ok()) status = spends.finish();
  if (status.ok()) status = put_marks(pending, newest_, marks.put());
  if (status.ok()) status = marks.finish();
  const Status coins_status = coins_built.get();
  if (status.ok()) status = coins_status;
  if (!status.ok()) return status;
  std::vector<ColumnFamilyHandle *> families{marks_};
  if (!coins.empty()) families.push_back(coins_);
  if (!spends.empty()) families.push_back(spends_);
  return ingest(families);
}

// One record of the manifest takes in all runs, so a crash leaves all of them or none.
Status Store::ingest(const std::vector<ColumnFamilyHandle *> &families) {
  // What is in the log must not be lost when this, which comes later, is kept.
  Status status = wanted_.sync != 0 ? Status::OK() : written(db_->SyncWAL());
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
  status = written(db_->IngestExternalFiles(arguments));
  if (status.ok()) ++ingestions_;
  return status;
}

// RocksDB keeps no file of such a name, and leaves it alone.
std::string Store::run_path(const ColumnFamilyHandle *family) const {
  return path_ + "/unfinished-" + const_cast<ColumnFamilyHandle *>(family)->GetName();
}

Status Store::remove_unfinished_runs() {
  Status status;
  for (const auto &family : families())
    if (status.ok()) status = remove_if_there(path_ + "/unfinished-" + family.name);
  return status;
}

rocksdb::Options Store::options_of(const ColumnFamilyHandle *family) const {
  return {db_options_, family == coins_ || family == spends_ ? names_options_ : blocks_options_};
}

Status Store::checkpoint() { return written(db_->Flush(rocksdb::FlushOptions(), handles_)); }

Status Store::settle() { return written(compact(*db_, handles_)); }

Status Store::begin_rewind(int64_t newest, int64_t *kept) {
  Status status = read_newest(newest, kept);
  rocksdb::WriteBatch batch;
  if (status.ok()) status = batch.Put(marks_, kRewindKey, slice(mark_value(*kept)));
  if (status.ok()) status = batch.Put(marks_, kIndexedKey, slice(mark_value(*kept)));
  return status.ok() ? write(batch, wanted_.sync != 0) : status;
}

void Store::set_rewinding(int64_t kept) {
  is_rewinding_ = true;
  newest_ = indexed_ = kept;
}

Status Store::erase(const Blocks &blocks) {
  if (!is_rewinding_) return Status::InvalidArgument("erase outside a rewind");
  rocksdb::WriteBatch batch;
  Status status;
  for (size_t b = 0; status.ok() && b < blocks.n; ++b) {
    if (static_cast<int64_t>(blocks.indices[b]) <= newest_)
      return Status::InvalidArgument("erase of a block that is kept");
    const size_t begin = blocks.confirm_begin(b), end = blocks.confirm_ends[b];
    const size_t n_parts = parts_of(end - begin);
    for (size_t part = 0; status.ok() && part <= n_parts; ++part)
      status = batch.Delete(blocks_, slice(block_key(blocks.indices[b], part)));
    for (size_t coin = begin; status.ok() && coin < end; ++coin)
      status = batch.Delete(coins_, name_slice(blocks.name(coin)));
    for (size_t i = blocks.spend_begin(b); status.ok() && i < blocks.spend_ends[b]; ++i)
      status = batch.Delete(spends_, name_slice(blocks.spend(i)));
  }
  return status.ok() ? write(batch, /*sync=*/false) : status;
}

Status Store::end_rewind() {
  rocksdb::WriteBatch batch;
  Status status = batch.Delete(marks_, kRewindKey);
  return status.ok() ? write(batch, wanted_.sync != 0) : status;
}

Status Store::write(rocksdb::WriteBatch &batch, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  return written(db_->Write(options, &batch));
}

Status Store::written(Status status) {
  has_failed_ = has_failed_ || !status.ok();
  return status;
}

}  // namespace cdb::rocks_kv
