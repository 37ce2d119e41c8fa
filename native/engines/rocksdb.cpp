// The functions of cdb_ordered_kv.h over RocksDB: a space is a column family.

#include "cdb_ordered_kv.h"

#include "common/fault_points.h"
#include "common/held_directory.h"
#include "common/lost_pages.h"
#include "common/option_text.h"
#include "packed.h"
#include "rocksdb/common.h"
#include "rocksdb/files.h"
#include "rocksdb/kept_iterators.h"
#include "rocksdb/log_file.h"
#include "rocksdb/mapped_tables.h"
#include "rocksdb/suffix_range.h"
#include "rocksdb/table_starts.h"
#include "rocksdb/threads.h"
#include "rocksdb/manifest_lock.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using cdb::LostPages;
using cdb::engines::add_entry;
using cdb::engines::add_nearest;
using cdb::engines::copy_wanted;
using cdb::engines::InTurn;
using cdb::engines::Item;
using cdb::engines::Seeks;
using rocksdb::ColumnFamilyHandle;
using rocksdb::PinnableSlice;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

constexpr size_t kReadChunk = 1024;  // keys; bounds the blocks that one MultiGet pins
constexpr size_t kLogBytes = 64u << 20;
constexpr int kRunsAtOnce = 8;  // from so many on they are merged

Slice slice(const Item &item) { return {reinterpret_cast<const char *>(item.bytes), item.n}; }

Item item(const Slice &slice) {
  return {reinterpret_cast<const uint8_t *>(slice.data()), slice.size()};
}

cdb::OptionText tuning(const okv_options &wanted) {
  return cdb::OptionText(wanted.tuning != nullptr ? wanted.tuning : "");
}

rocksdb::CompressionType compression(const okv_options &wanted) {
  const std::string_view name = tuning(wanted).value("compression", "none");
  if (name == "snappy") return rocksdb::kSnappyCompression;
  if (name == "lz4") return rocksdb::kLZ4Compression;
  return name == "zstd" ? rocksdb::kZSTD : rocksdb::kNoCompression;
}

rocksdb::DBOptions db_options_for(const okv_options &wanted) {
  rocksdb::DBOptions options;
  options.create_if_missing = wanted.create != 0;
  options.create_missing_column_families = wanted.create != 0;
  options.paranoid_checks = true;
  // A new database is about to be loaded, which reads little, and mapped pages count as its memory.
  options.allow_mmap_reads = wanted.create == 0;
  options.max_background_jobs = 2;
  options.max_file_opening_threads = opening_threads();
  options.bytes_per_sync = 1u << 20;
  options.max_total_wal_size = kLogBytes;
  options.max_bgerror_resume_count = 0;  // what has failed stays failed until it is reopened
  options.info_log = std::make_shared<SilentLogger>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  if (const uint64_t files = tuning(wanted).number("max_open_files", 0); files > 0)
    options.max_open_files = static_cast<int>(files);
  return options;
}

rocksdb::ColumnFamilyOptions ascending_options(const rocksdb::BlockBasedTableOptions &table,
                                               const okv_options &wanted) {
  rocksdb::ColumnFamilyOptions options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.compression = compression(wanted);  // nearly all is hashes
  options.write_buffer_size = wanted.memtable_bytes;
  return options;
}

// Of a key, all but its last bytes.
class AllButLast : public rocksdb::SliceTransform {
 public:
  explicit AllButLast(size_t n_bytes)
      : n_bytes_(n_bytes), name_("cdb.AllButLast." + std::to_string(n_bytes)) {}
  const char *Name() const override { return name_.c_str(); }
  Slice Transform(const Slice &key) const override { return {key.data(), key.size() - n_bytes_}; }
  bool InDomain(const Slice &key) const override { return key.size() >= n_bytes_; }

 private:
  const size_t n_bytes_;
  const std::string name_;
};

const rocksdb::SliceTransform *prefix_of(const okv_space &space) {
  if (space.order == OKV_UNFILTERED) return nullptr;
  if (space.prefix_bytes > 0) return rocksdb::NewFixedPrefixTransform(space.prefix_bytes);
  return space.suffix_bytes > 0 ? new AllButLast(space.suffix_bytes) : nullptr;
}

// Each run of random keys covers all of them, and levels of runs that overlap wholly would be
// rewritten at each merge. Universal compaction merges runs of like size.
rocksdb::ColumnFamilyOptions random_options(rocksdb::BlockBasedTableOptions table,
                                            const okv_space &space, const okv_options &wanted) {
  const std::shared_ptr<const rocksdb::SliceTransform> prefix(prefix_of(space));
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.whole_key_filtering = prefix == nullptr;
  rocksdb::ColumnFamilyOptions options = ascending_options(table, wanted);
  if (space.suffix_bytes > 0 && tuning(wanted).is_set("height_filter", false))
    options.table_properties_collector_factories.push_back(
        std::make_shared<SuffixRanges>(space.suffix_bytes));
  options.prefix_extractor = prefix;
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.memtable_whole_key_filtering = prefix == nullptr;
  options.memtable_prefix_bloom_size_ratio = 0.02;
  options.level0_file_num_compaction_trigger = kRunsAtOnce;
  options.level0_slowdown_writes_trigger = 5 * kRunsAtOnce;
  options.level0_stop_writes_trigger = 8 * kRunsAtOnce;
  return options;
}

// Of at most 64 bits.
uint64_t varint(const char **at) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<uint8_t>(*(*at)++);
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  return value;
}

// Whether a table's footer is one that there is: a kind of checksum, two blocks that lie within the
// table, each as a varint of its offset and one of its length; the format's version, and a mark.
bool has_known_end(const std::string &path) {
  constexpr uint64_t kMark = 0x88e241b785f4cff7;
  constexpr uint32_t kNewest = 7;
  constexpr uint8_t kMostChecksums = 4;
  std::array<char, 53> end = {};
  std::ifstream file(path, std::ios::binary);
  file.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  const auto length = static_cast<uint64_t>(file.tellg());
  file.read(end.data(), end.size());
  uint64_t mark = 0;
  uint32_t version = 0;
  // Little endian, as all that RocksDB writes.
  std::memcpy(&mark, end.end() - sizeof mark, sizeof mark);
  std::memcpy(&version, end.end() - sizeof mark - sizeof version, sizeof version);
  const char *at = end.begin() + 1;
  for (int block = 0; block < 2; ++block) {
    const uint64_t offset = varint(&at), n_bytes = varint(&at);
    if (offset > length || n_bytes > length - offset) return false;
  }
  return file.good() && static_cast<uint8_t>(end[0]) <= kMostChecksums && version <= kNewest &&
         mark == kMark;
}

Status remove_if_there(const std::string &path) {
  if (std::remove(path.c_str()) == 0 || errno == ENOENT) return Status::OK();
  return Status::IOError("can't remove " + path, std::strerror(errno));
}

}  // namespace

struct okv {
 public:
  okv(const char *path, const okv_options &wanted);
  ~okv() { release_families(); }
  okv(const okv &) = delete;
  okv &operator=(const okv &) = delete;

  void open(const okv_options &wanted);
  void close();
  okv_stats stats() const { return {db_->GetLatestSequenceNumber(), ingests_, families_.size()}; }
  void commit(const okv_op *ops, const okv_items &keys, const okv_items &values,
              okv_durability durability);
  void ingest(okv_run *const *runs, size_t n_runs);
  void get_many(const okv_view *view, uint8_t space, const okv_items &keys, okv_wanted *wanted,
                okv_reuse reuse);
  void seek_many(const okv_view *view, const Seeks &seeks, okv_page *page, uint8_t *found,
                 size_t *done);
  void leave_out_heights(const Seeks &seeks, rocksdb::ReadOptions *options) const;
  void checkpoint();
  void settle() { written(compact(*db_, families_)); }
  void verify() { check(db_->VerifyChecksum()); }

  // What a body concludes from tables counts only if all of their pages could be read.
  template <typename Body>
  void reading(Body body) {
    with_readable_mappings(*lost_pages_, body);
  }
  template <typename Body>
  void writing(Body body) {
    if (is_read_only_) throw cdb::Failure(CDB_INVALID, "", "it was opened read-only");
    reading(body);
  }

  rocksdb::DB &db() { return *db_; }
  ColumnFamilyHandle *family(uint8_t space) const {
    if (space >= families_.size()) throw cdb::Failure(CDB_CORRUPT, "", "a space is missing");
    return families_[space];
  }
  // Null where nothing is written that it could leave out.
  const rocksdb::Snapshot *snapshot() { return is_read_only_ ? nullptr : db_->GetSnapshot(); }
  void release(const rocksdb::Snapshot *snapshot) {
    if (snapshot != nullptr) db_->ReleaseSnapshot(snapshot);
  }
  bool has_prefixes(uint8_t space) const {
    return descriptors_.at(space).options.prefix_extractor != nullptr;
  }
  TableStarts &table_starts(uint8_t space) { return table_starts_.at(space); }
  rocksdb::Options options_of(uint8_t space) const {
    return {db_options_, descriptors_.at(space).options};
  }
  // Whether a filter knows of all keys between these.
  bool share_prefix(uint8_t space, const Slice &a, const Slice &b) const {
    const auto &prefix = descriptors_.at(space).options.prefix_extractor;
    return prefix != nullptr && prefix->InDomain(a) && prefix->InDomain(b) &&
           prefix->Transform(a) == prefix->Transform(b);
  }
  // RocksDB keeps no file of such a name, and leaves it alone.
  std::string run_path(uint8_t space) const {
    return path_ + "/unfinished-" + descriptors_.at(space).name;
  }

 private:
  Status open_families();
  Status allow_for_late();
  Status remove_unfinished_runs() const;
  Status naming_table(const Status &damage) const;
  std::string manifest_state() const;
  bool has_tables() const;
  void leave_sequence_0();
  void release_families();
  // Takes note of how a write ended.
  void written(const Status &status);

  const HeldDirectory directory_;  // is closed when db_ is
  const std::string &path_ = directory_.path();
  const bool is_read_only_;
  const size_t n_late_;
  const bool filters_heights_, reuses_iterators_;
  const std::shared_ptr<LostPages> lost_pages_ = std::make_shared<LostPages>();
  std::unique_ptr<rocksdb::Env> env_;  // outlives db_
  rocksdb::DBOptions db_options_;
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors_;
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<ColumnFamilyHandle *> families_;  // owned until close()
  std::vector<TableStarts> table_starts_;
  KeptIterators kept_iterators_;
  std::atomic<uint64_t> ingests_{0};
  bool is_log_synced_ = true;
  bool has_failed_ = false;  // a write
};

struct okv_run {
 public:
  okv_run(okv *kv, uint8_t space)
      : space_(space),
        writer_(rocksdb::EnvOptions(), kv->options_of(space), kv->family(space)),
        path_(kv->run_path(space)) {}

  uint8_t space() const { return space_; }
  const std::string &path() const { return path_; }
  bool is_empty() const { return is_empty_; }

  void add(const okv_items &keys, const okv_items &values) {
    if (std::exchange(is_empty_, is_empty_ && keys.n == 0) != is_empty_) begin();
    InTurn key(keys), value(values);
    for (size_t i = 0; i < keys.n; ++i) check(writer_.Put(slice(key.next()), slice(value.next())));
  }
  void finish() {
    if (!is_empty_) check(writer_.Finish());
  }

 private:
  // A file that is there may be a hard link of a run that was ingested: it must not be written
  // over.
  void begin() {
    check(remove_if_there(path_));
    check(writer_.Open(path_));
  }

  const uint8_t space_;
  rocksdb::SstFileWriter writer_;
  const std::string path_;
  bool is_empty_ = true;  // and there is no file
};

struct okv_view {
 public:
  explicit okv_view(okv *kv) : kv_(kv), snapshot_(kv->snapshot()) {}
  ~okv_view() { kv_->release(snapshot_); }
  okv_view(const okv_view &) = delete;
  okv_view &operator=(const okv_view &) = delete;
  const rocksdb::Snapshot *snapshot() const { return snapshot_; }

 private:
  okv *const kv_;
  const rocksdb::Snapshot *const snapshot_;
};

namespace {

rocksdb::ReadOptions read_options(const okv_view *view, okv_reuse reuse) {
  rocksdb::ReadOptions options;
  options.fill_cache = reuse == OKV_OFTEN;
  if (view != nullptr) options.snapshot = view->snapshot();
  return options;
}

}  // namespace

struct okv_scan {
 public:
  okv_scan(okv *kv, const okv_view *view, uint8_t space, const okv_bounds &bounds, bool is_reverse,
           okv_reuse reuse);
  void next(okv_page *page);
  okv *kv() const { return kv_; }

 private:
  bool is_inside() const;
  bool is_behind_start() const;
  void seek(const Slice &key);
  void begin();
  void step();

  okv *const kv_;
  const std::string first_, end_;
  const bool has_end_, is_reverse_;
  std::unique_ptr<rocksdb::Iterator> rows_;
  std::shared_ptr<const TableStarts::Keys> starts_;
  size_t next_start_ = 0;
  bool is_begun_ = false;
  bool is_given_ = true;  // the entry at which rows_ is
};

okv::okv(const char *path, const okv_options &wanted)
    : directory_(path),
      is_read_only_(wanted.read_only != 0),
      n_late_(wanted.n_late_spaces),
      filters_heights_(tuning(wanted).is_set("height_filter", false)),
      reuses_iterators_(tuning(wanted).is_set("session_reuse", false)),
      db_options_(db_options_for(wanted)),
      table_starts_(wanted.n_spaces) {
  std::shared_ptr<rocksdb::FileSystem> files = std::make_shared<CarefulFiles>(
      std::make_shared<MappedTables>(rocksdb::FileSystem::Default(), lost_pages_));
  if (wanted.mostly == OKV_POWER) files = std::make_shared<ZeroedLogs>(files);
  env_ = rocksdb::NewCompositeEnv(files);
  db_options_.env = env_.get();
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(wanted.cache_bytes);
  table.format_version = 5;  // 7.8, as Debian has it, reads no later one
  for (size_t i = 0; i < wanted.n_spaces; ++i) {
    const okv_space &space = wanted.spaces[i];
    // A RocksDB database always has the first one, which is called so.
    descriptors_.emplace_back(i == 0 ? rocksdb::kDefaultColumnFamilyName : space.name,
                              space.order == OKV_ASCENDING
                                  ? ascending_options(table, wanted)
                                  : random_options(table, space, wanted));
  }
}

void okv::open(const okv_options &wanted) {
  if (wanted.create == 0 && env_->FileExists(path_ + "/CURRENT").IsNotFound())
    check(Status::NotFound("it has no file CURRENT"));
  Status status;
  if (!is_read_only_ && !CDB_FAULT("unfinished-runs-left")) status = remove_unfinished_runs();
  if (status.ok()) status = open_families();
  // A column family is missing, or a file that another one names.
  const bool is_damaged = status.IsInvalidArgument() || status.IsPathNotFound();
  if (is_damaged) status = Status::Corruption(status.ToString());
  check(status.IsCorruption() ? naming_table(status) : status);
  if (!is_read_only_ && has_tables()) leave_sequence_0();
}

bool okv::has_tables() const {
  return std::any_of(families_.begin(), families_.end(), [this](ColumnFamilyHandle *family) {
    rocksdb::ColumnFamilyMetaData data;
    db_->GetColumnFamilyMetaData(family, &data);
    return data.file_count > 0;
  });
}

// A compaction beside a snapshot of number 0 drops what has that number (facebook/rocksdb#13155),
// and so have the runs that a new database takes in. From the next number on no snapshot is of 0.
void okv::leave_sequence_0() {
  if (db_->GetLatestSequenceNumber() == 0 && !CDB_FAULT("snapshot-of-number-zero"))
    written(db_->Delete(rocksdb::WriteOptions(), family(0), Slice()));
}

// Have the last families made where they are missing; or, read_only, do without them. RocksDB
// itself would make any.
Status okv::allow_for_late() {
  if (n_late_ == 0 || db_options_.create_if_missing) return Status::OK();
  std::vector<std::string> there;
  const Status status = rocksdb::DB::ListColumnFamilies(db_options_, path_, &there);
  if (!status.ok()) return status;
  const auto is_missing = [&there](const rocksdb::ColumnFamilyDescriptor &each) {
    return std::find(there.begin(), there.end(), each.name) == there.end();
  };
  const auto late = descriptors_.end() - static_cast<ptrdiff_t>(n_late_);
  if (is_read_only_)
    descriptors_.erase(std::find_if(late, descriptors_.end(), is_missing), descriptors_.end());
  else
    db_options_.create_missing_column_families =
        std::none_of(descriptors_.begin(), late, is_missing);
  return status;
}

Status okv::open_families() {
  std::unique_ptr<ManifestLock> lock;
  if (is_read_only_ && !CDB_FAULT("reader-takes-no-manifest-lock"))
    lock = std::make_unique<ManifestLock>(path_, LOCK_SH);
  const std::string manifest = is_read_only_ ? manifest_state() : "";
  if (const Status status = allow_for_late(); !status.ok()) return status;
  const Status status =
      is_read_only_
          ? rocksdb::DB::OpenForReadOnly(db_options_, path_, descriptors_, &families_,
                                         OpenedInto(db_))
          : rocksdb::DB::Open(db_options_, path_, descriptors_, &families_, OpenedInto(db_));
  if (!status.ok()) return status;
  // The logs are read after the manifest. What a writer moves from there to tables meanwhile, or
  // takes in before it goes on in the log, would be missing in the middle.
  if (is_read_only_ && manifest_state() != manifest && !CDB_FAULT("manifest-change-unseen"))
    return Status::TryAgain("a writer changed it while it was opened");
  return status;
}

// Which manifest counts and how long it is, as nothing is ever changed in it.
std::string okv::manifest_state() const {
  std::string name;
  uint64_t length = 0;
  if (!rocksdb::ReadFileToString(env_.get(), path_ + "/CURRENT", &name).ok()) return "";
  const std::string path = path_ + "/" + name.substr(0, name.find('\n'));
  return env_->GetFileSize(path, &length).ok() ? name + std::to_string(length) : "";
}

Status okv::remove_unfinished_runs() const {
  Status status;
  for (size_t space = 0; status.ok() && space < descriptors_.size(); ++space)
    status = remove_if_there(run_path(static_cast<uint8_t>(space)));
  return status;
}

// Of a table whose last bytes are damaged RocksDB tells what is wrong, but names the manifest that
// leads to it. There may be other such tables, which a crash has left: then nobody knows which.
Status okv::naming_table(const Status &damage) const {
  const std::string text = damage.ToString();
  std::vector<std::string> files, damaged;
  const auto says = [&text](const char *what) { return text.find(what) != std::string::npos; };
  if (!says("format_version") && !says("checksum type") && !says("bad block handle")) return damage;
  if (file_in(text).rfind("MANIFEST", 0) != 0 || !env_->GetChildren(path_, &files).ok())
    return damage;
  std::copy_if(files.begin(), files.end(), std::back_inserter(damaged), [this](const auto &file) {
    return file.size() > 4 && file.compare(file.size() - 4, 4, ".sst") == 0 &&
           !has_known_end(path_ + "/" + file);
  });
  return damaged.size() == 1 ? Status::Corruption(damaged.front(), text) : damage;
}

// Must come before the database goes.
void okv::release_families() {
  kept_iterators_.clear();
  for (ColumnFamilyHandle *family : families_) delete family;
  families_.clear();
}

// After a failed write RocksDB says once more that there was one, which would hide why.
void okv::close() {
  release_families();
  const Status status = db_->Close();
  if (!has_failed_) check(status);
}

void okv::checkpoint() {
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;  // or it waits for a merge of runs, which a full disk prevents
  written(db_->Flush(options, families_));
}

void okv::written(const Status &status) {
  has_failed_ = has_failed_ || !status.ok();
  check(status);
}

void okv::commit(const okv_op *ops, const okv_items &keys, const okv_items &values,
                 okv_durability durability) {
  rocksdb::WriteBatch batch;
  InTurn next_key(keys), next_value(values);
  for (size_t i = 0; i < keys.n; ++i) {
    const Slice key = slice(next_key.next()), value = slice(next_value.next());
    ColumnFamilyHandle *const to = family(ops[i].space);
    check(ops[i].is_delete != 0 ? batch.Delete(to, key) : batch.Put(to, key, value));
  }
  rocksdb::WriteOptions options;
  options.sync = durability == OKV_POWER && !CDB_FAULT("rocksdb-log-not-synced");
  is_log_synced_ = options.sync;
  written(db_->Write(options, &batch));
}

// One record of the manifest takes in all runs, so a crash leaves all of them or none.
void okv::ingest(okv_run *const *runs, size_t n_runs) {
  // What is in the log must not be lost when this, which comes later, is kept.
  if (!is_log_synced_ && !CDB_FAULT("runs-before-log")) written(db_->SyncWAL());
  is_log_synced_ = true;
  std::vector<rocksdb::IngestExternalFileArg> arguments;
  for (size_t i = 0; i < n_runs; ++i) {
    if (runs[i]->is_empty()) continue;
    rocksdb::IngestExternalFileArg argument;
    argument.column_family = family(runs[i]->space());
    argument.external_files = {runs[i]->path()};
    argument.options.move_files = true;
    argument.options.write_global_seqno = false;
    arguments.push_back(argument);
  }
  if (arguments.empty()) return;
  written(db_->IngestExternalFiles(arguments));
  ++ingests_;
  leave_sequence_0();
}

void okv::get_many(const okv_view *view, uint8_t space, const okv_items &keys, okv_wanted *wanted,
                   okv_reuse reuse) {
  const size_t most = std::min(keys.n, kReadChunk);
  std::vector<Slice> asked(most);
  std::vector<PinnableSlice> values(most);
  std::vector<Status> statuses(most);
  InTurn next_key(keys);
  const ReadingInPlace in_place(reuse == OKV_MOST);
  for (size_t done = 0; done < keys.n; done += kReadChunk) {
    const size_t n = std::min(kReadChunk, keys.n - done);
    std::generate_n(asked.begin(), n, [&] { return slice(next_key.next()); });
    db_->MultiGet(read_options(view, reuse), family(space), n, asked.data(), values.data(),
                  statuses.data(), /*sorted_input=*/true);
    for (size_t i = 0; i < n; ++i) {
      const Status &status = statuses[i];
      if (!status.ok() && !status.IsNotFound() && !CDB_FAULT("read-error-is-absence"))
        check(status);
      wanted[done + i].length = OKV_ABSENT;
      if (status.ok()) copy_wanted(item(values[i]), &wanted[done + i]);
      values[i].Reset();
    }
  }
}

// Where the space has prefixes, what is sought is looked for only in tables that may have its own.
void okv::seek_many(const okv_view *view, const Seeks &seeks, okv_page *page, uint8_t *found,
                    size_t *done) {
  rocksdb::ReadOptions options = read_options(view, seeks.reuse);
  options.prefix_same_as_start = has_prefixes(seeks.space);
  options.total_order_seek = !options.prefix_same_as_start;
  const bool keeps = reuses_iterators_ && view == nullptr;
  const uint64_t at = db_->GetLatestSequenceNumber() + ingests_;
  if (filters_heights_ && !keeps) leave_out_heights(seeks, &options);
  std::unique_ptr<rocksdb::Iterator> rows;
  if (keeps) rows = kept_iterators_.take(seeks.space, at);
  if (rows == nullptr) rows.reset(db_->NewIterator(options, family(seeks.space)));
  const auto nearest = [&](const Item &sought, Item *key, Item *value) {
    seeks.is_before ? rows->SeekForPrev(slice(sought)) : rows->Seek(slice(sought));
    if (!rows->Valid()) {
      check(rows->status());
      return false;
    }
    *key = item(rows->key());
    *value = item(rows->value());
    return true;
  };
  add_nearest(seeks, nearest, page, found, done);
  if (keeps && rows->status().ok()) kept_iterators_.give(seeks.space, at, std::move(rows));
}

// As of the nearest height that is sought: of one call there is one.
void okv::leave_out_heights(const Seeks &seeks, rocksdb::ReadOptions *options) const {
  std::string nearest;
  InTurn keys(seeks.keys);
  for (size_t i = 0; i < seeks.keys.n; ++i) {
    const Item key = keys.next();
    if (key.n < seeks.suffix_bytes) return;
    const Slice last = slice({key.bytes + key.n - seeks.suffix_bytes, seeks.suffix_bytes});
    const bool is_farther = nearest.empty() || (seeks.is_before ? last.ToString() > nearest
                                                                : last.ToString() < nearest);
    if (is_farther) nearest = last.ToString();
  }
  if (!nearest.empty()) SuffixRange::leave_out(nearest, seeks.is_before, options);
}

okv_scan::okv_scan(okv *kv, const okv_view *view, uint8_t space, const okv_bounds &bounds,
                   bool is_reverse, okv_reuse reuse)
    : kv_(kv),
      first_(reinterpret_cast<const char *>(bounds.first), bounds.first_bytes),
      end_(reinterpret_cast<const char *>(bounds.end), bounds.end_bytes),
      has_end_(bounds.end_bytes > 0),
      is_reverse_(is_reverse) {
  rocksdb::ReadOptions options = read_options(view, reuse);
  options.prefix_same_as_start = kv->share_prefix(space, first_, end_);
  options.total_order_seek = !options.prefix_same_as_start;  // past all filters
  do {
    rows_.reset(kv->db().NewIterator(options, kv->family(space)));
    check(rows_->status());
    starts_ = kv->table_starts(space).of(*rows_, kv->db(), kv->family(space));
  } while (starts_ == nullptr);
  const auto start = std::upper_bound(starts_->begin(), starts_->end(), first_);
  next_start_ = static_cast<size_t>(start - starts_->begin());
}

bool okv_scan::is_inside() const {
  const Slice key = rows_->key();
  return key.compare(first_) >= 0 && (!has_end_ || key.compare(end_) < 0);
}

// Whether a table begins at the row, or between it and the one before.
bool okv_scan::is_behind_start() const {
  return next_start_ < starts_->size() &&
         (!rows_->Valid() || rows_->key().compare((*starts_)[next_start_]) >= 0);
}

void okv_scan::seek(const Slice &key) {
  rows_->Seek(key);
  while (rows_->Valid() && is_behind_start()) ++next_start_;
}

void okv_scan::begin() {
  if (!is_reverse_) {
    seek(first_);
  } else if (has_end_) {
    rows_->SeekForPrev(end_);
    if (rows_->Valid() && rows_->key() == end_) rows_->Prev();
  } else {
    rows_->SeekToLast();
  }
}

void okv_scan::step() {
  if (!std::exchange(is_begun_, true)) return begin();
  if (is_reverse_) return rows_->Prev();
  rows_->Next();
  if (!rows_->status().ok() || !is_behind_start()) return;
  const std::string &start = (*starts_)[next_start_];
  if (!has_end_ || start < end_) seek(start);
}

void okv_scan::next(okv_page *page) {
  const size_t n_before = page->n;
  page->is_end = 0;
  page->keys_needed = page->values_needed = 0;
  while (page->n < page->most) {
    if (std::exchange(is_given_, false)) step();
    if (!rows_->Valid() || !is_inside()) {
      if (page->n == n_before) check(rows_->status());
      page->is_end = rows_->status().ok() ? 1 : 0;
      return;
    }
    if (!add_entry(item(rows_->key()), item(rows_->value()), page)) return;
    is_given_ = true;
  }
}

const char *okv_version(void) {
  static const std::string version = "RocksDB " + rocksdb::GetRocksVersionAsString();
  return version.c_str();
}

#include "face.h"
