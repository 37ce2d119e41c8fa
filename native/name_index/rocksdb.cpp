// RocksDB behind cdb_engine.h.
//
// One column family. A coin name maps to its row id, 8 bytes little endian; the key
// "watermark", whose length no name has, maps to
//
//     rows (8, little endian) · 1 while a rewind is under way, else 0 (1) · last name (32)
//
// RocksDB checks the checksum of every block that it reads, unless told otherwise.
//
// Memory: the cache and two or three buffers, and for each name about 1.3 bytes of bloom filter
// and 1 byte of block index, which stay in memory for as long as the map is open.

#include "cdb_engine_api.h"
#include "common/bytes.h"
#include "common/c_face.h"
#include "rocksdb/common.h"
#include "rocksdb/files.h"
#include "rocksdb/held_directory.h"
#include "rocksdb/threads.h"
#include "rocksdb/manifest_lock.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using cdb::guarded;
using rocksdb::Slice;
using rocksdb::Status;

namespace {

constexpr size_t kRowBytes = 8;
constexpr size_t kWatermarkBytes = kRowBytes + 1 + CDB_NAME_BYTES;
constexpr size_t kEntryBytes = 2 + 1 + CDB_NAME_BYTES + 1 + kRowBytes;  // in a write batch
constexpr size_t kReadChunk = 512;     // names; bounds the blocks that one MultiGet pins
constexpr size_t kTrimChunk = 50'000;  // names
const Slice kWatermarkKey("watermark");
constexpr const char *kReadOnly = "a write to a map opened read-only";

using RowBytes = std::array<char, kRowBytes>;
using WatermarkBytes = std::array<char, kWatermarkBytes>;

RowBytes encode(uint64_t row) {
  RowBytes bytes;
  for (size_t i = 0; i < kRowBytes; ++i) bytes[i] = static_cast<char>(row >> (8 * i) & 0xff);
  return bytes;
}

uint64_t decode(const char *bytes) {
  uint64_t row = 0;
  for (size_t i = 0; i < kRowBytes; ++i)
    row |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return row;
}

Slice name_at(const uint8_t *names, size_t i) {
  return {reinterpret_cast<const char *>(names) + i * CDB_NAME_BYTES, CDB_NAME_BYTES};
}

// rows (8) · whether a rewind is under way (1) · last name (32)
WatermarkBytes encode(const cdb_watermark &covered, bool rewinding) {
  WatermarkBytes value;
  const RowBytes rows = encode(covered.rows);
  std::copy(rows.begin(), rows.end(), value.begin());
  value[kRowBytes] = rewinding ? 1 : 0;
  std::memcpy(value.data() + kRowBytes + 1, covered.last_name, CDB_NAME_BYTES);
  return value;
}

// The places of the names in ascending order.
std::vector<size_t> sorted(const uint8_t *names, size_t n) {
  std::vector<std::pair<uint64_t, size_t>> keyed(n);
  for (size_t i = 0; i < n; ++i) keyed[i] = {cdb::load_big_endian(names + i * CDB_NAME_BYTES), i};
  std::sort(keyed.begin(), keyed.end(), [names](const auto &a, const auto &b) {
    if (a.first != b.first) return a.first < b.first;
    return name_at(names, a.second).compare(name_at(names, b.second)) < 0;
  });
  std::vector<size_t> places(n);
  std::transform(keyed.begin(), keyed.end(), places.begin(),
                 [](const auto &pair) { return pair.second; });
  return places;
}

cdb::Failure foreign(const std::string &why) {
  return {CDB_FOREIGN, "", "this is not an index of cdb's (" + why + ")", "name another path"};
}

Status row_of(const Slice &value, uint64_t *row) {
  if (value.size() != kRowBytes) return Status::Corruption("a row id is not 8 bytes long");
  *row = decode(value.data());
  return Status::OK();
}

rocksdb::Options options_for(const cdb_options &wanted, rocksdb::Env *env) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(wanted.cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));

  rocksdb::Options options;
  options.env = env;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  options.create_if_missing = wanted.read_only == 0;
  options.paranoid_checks = true;
  options.compression = rocksdb::kNoCompression;  // names are hashes
  options.write_buffer_size = wanted.buffer_bytes;
  // Every run covers all names, and levels of runs that overlap wholly would be rewritten at each
  // merge. Universal compaction merges runs of like size.
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
  options.max_background_jobs = 2;
  options.max_file_opening_threads = opening_threads();
  options.avoid_flush_during_shutdown = false;
  options.max_bgerror_resume_count = 0;  // what has failed stays failed until it is reopened
  options.info_log = std::make_shared<SilentLogger>();
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  return options;
}

rocksdb::WriteOptions write_options_for(cdb_log log) {
  rocksdb::WriteOptions options;
  options.disableWAL = log == CDB_LOG_OFF;
  options.sync = log == CDB_LOG_SYNC;
  return options;
}

}  // namespace

struct cdb_engine {
 public:
  explicit cdb_engine(const std::string &path) : directory_(path) {}
  static Status open(const std::string &path, const cdb_options &options, cdb_engine **engine);
  Status close();
  Status find(const uint8_t *names, size_t n, uint64_t *rows);
  Status put(const uint8_t *names, size_t n, const cdb_watermark &covered);
  Status begin_rewind(const cdb_watermark &covered);
  Status erase(const uint8_t *names, size_t n);
  Status end_rewind();
  Status flush();
  Status settle();
  const cdb_watermark &covered() const { return covered_; }

 private:
  Status load_watermark();
  Status trim();
  Status find_sorted(const uint8_t *names, const size_t *order, size_t n, uint64_t *rows,
                     uint64_t limit);
  Status write_run(const uint8_t *names, size_t n, const cdb_watermark &covered);
  Status write(rocksdb::WriteBatch &batch, const cdb_watermark &covered, bool rewinding);
  template <typename Write>
  Status move_watermark(const cdb_watermark &covered, bool rewinding, Write write);

  const HeldDirectory directory_;  // is closed when db_ is
  std::string run_path_;
  std::unique_ptr<rocksdb::Env> env_;  // outlives db_
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions writing_;
  bool read_only_ = false;
  bool rewinding_ = false;
  cdb_watermark covered_{};
  std::atomic<uint64_t> limit_{0};  // covered_.rows, for readers in other threads
};

Status cdb_engine::open(const std::string &given, const cdb_options &wanted, cdb_engine **engine) {
  auto opened = std::make_unique<cdb_engine>(given);
  const std::string &path = opened->directory_.path();
  opened->writing_ = write_options_for(wanted.log);
  opened->read_only_ = wanted.read_only != 0;
  opened->run_path_ = path + "/run.new";
  opened->env_ =
      rocksdb::NewCompositeEnv(std::make_shared<CarefulFiles>(rocksdb::FileSystem::Default()));
  const rocksdb::Options options = options_for(wanted, opened->env_.get());
  if (opened->read_only_ && options.env->FileExists(path + "/CURRENT").IsNotFound())
    return Status::NotFound("it has no file CURRENT");
  rocksdb::DB *db = nullptr;
  std::unique_ptr<ManifestLock> lock;
  if (opened->read_only_) lock = std::make_unique<ManifestLock>(path, LOCK_SH);
  Status status = opened->read_only_ ? rocksdb::DB::OpenForReadOnly(options, path, &db)
                                     : rocksdb::DB::Open(options, path, &db);
  lock.reset();
  opened->db_.reset(db);
  // Another comparator, or options of a RocksDB that we do not know.
  if (status.IsInvalidArgument() || status.IsNotSupported()) throw foreign(status.ToString());
  // A file that another one names is not there.
  if (status.IsPathNotFound()) status = Status::Corruption(status.ToString());
  if (status.ok()) status = opened->load_watermark();
  if (status.ok() && opened->rewinding_ && !opened->read_only_) status = opened->trim();
  if (status.ok()) *engine = opened.release();
  return status;
}

// Every write carries the watermark, so where it is missing nothing else is ours either.
Status cdb_engine::load_watermark() {
  std::string value;
  const Status status = db_->Get({}, kWatermarkKey, &value);
  if (status.IsNotFound()) {
    const std::unique_ptr<rocksdb::Iterator> any(db_->NewIterator({}));
    any->SeekToFirst();
    if (any->Valid()) throw foreign("it is a RocksDB database, but has no watermark");
    return any->status();
  }
  if (!status.ok()) return status;
  if (value.size() != kWatermarkBytes) return Status::Corruption("the watermark's length is wrong");
  covered_.rows = decode(value.data());
  rewinding_ = value[kRowBytes] != 0;
  std::memcpy(covered_.last_name, value.data() + kRowBytes + 1, CDB_NAME_BYTES);
  limit_ = covered_.rows;
  return Status::OK();
}

Status cdb_engine::close() {
  const Status flushed = read_only_ ? Status::OK() : flush();
  const Status closed = db_->Close();
  return flushed.ok() ? closed : flushed;
}

Status cdb_engine::flush() {
  rocksdb::FlushOptions options;
  options.allow_write_stall = true;  // or it waits for a merge of runs, which a full disk prevents
  return db_->Flush(options);
}

Status cdb_engine::settle() {
  if (read_only_) return Status::InvalidArgument(kReadOnly);
  const Status status = flush();
  return status.ok() ? compact(*db_, {db_->DefaultColumnFamily()}) : status;
}

Status cdb_engine::find(const uint8_t *names, size_t n, uint64_t *rows) {
  const std::vector<size_t> order = sorted(names, n);
  const uint64_t limit = limit_;
  for (size_t done = 0; done < n; done += kReadChunk) {
    const size_t count = std::min(kReadChunk, n - done);
    const Status status = find_sorted(names, order.data() + done, count, rows, limit);
    if (!status.ok()) return status;
  }
  return Status::OK();
}

// Looks up names[order[0 … n-1]], which ascend.
Status cdb_engine::find_sorted(const uint8_t *names, const size_t *order, size_t n, uint64_t *rows,
                               uint64_t limit) {
  std::vector<Slice> keys(n);
  std::vector<Status> statuses(n);
  std::vector<rocksdb::PinnableSlice> values(n);
  for (size_t i = 0; i < n; ++i) keys[i] = name_at(names, order[i]);
  db_->MultiGet({}, db_->DefaultColumnFamily(), n, keys.data(), values.data(), statuses.data(),
                /*sorted_input=*/true);
  for (size_t i = 0; i < n; ++i) {
    uint64_t row = 0;
    const Status status = statuses[i].ok() ? row_of(values[i], &row) : statuses[i];
    if (!status.ok() && !status.IsNotFound()) return status;
    rows[order[i]] = row <= limit ? row : 0;
  }
  return Status::OK();
}

// The names become one sorted run, which RocksDB takes in as a file: that costs a fraction of what
// a memtable does, and the file is durable at once.
Status cdb_engine::put(const uint8_t *names, size_t n, const cdb_watermark &covered) {
  if (read_only_) return Status::InvalidArgument(kReadOnly);
  if (rewinding_) return Status::InvalidArgument("put within a rewind");
  if (covered.rows != covered_.rows + n)
    return Status::InvalidArgument("the names are not those of the rows up to the watermark");
  if (n == 0) return Status::OK();
  const Status status = write_run(names, n, covered);
  if (!status.ok()) return status;
  rocksdb::IngestExternalFileOptions options;
  options.move_files = true;
  options.write_global_seqno = false;
  return move_watermark(covered, /*rewinding=*/false,
                        [&] { return db_->IngestExternalFile({run_path_}, options); });
}

Status cdb_engine::write_run(const uint8_t *names, size_t n, const cdb_watermark &covered) {
  const WatermarkBytes watermark = encode(covered, /*rewinding=*/false);
  rocksdb::SstFileWriter run(rocksdb::EnvOptions(), db_->GetOptions());
  // A crash may have left it, as a second name of a run that was taken in: never write into it.
  Status status = db_->GetEnv()->DeleteFile(run_path_);
  if (status.ok() || status.IsNotFound() || status.IsPathNotFound()) status = run.Open(run_path_);
  bool has_watermark = false;
  for (const size_t i : sorted(names, n)) {
    if (!status.ok()) return status;
    const Slice name = name_at(names, i);
    if (!has_watermark && name.compare(kWatermarkKey) > 0) {
      status = run.Put(kWatermarkKey, {watermark.data(), watermark.size()});
      has_watermark = true;
      if (!status.ok()) return status;
    }
    const RowBytes row = encode(covered_.rows + 1 + i);
    status = run.Put(name, {row.data(), row.size()});
  }
  if (status.ok() && !has_watermark)
    status = run.Put(kWatermarkKey, {watermark.data(), watermark.size()});
  return status.ok() ? run.Finish() : status;
}

Status cdb_engine::begin_rewind(const cdb_watermark &covered) {
  if (covered.rows > covered_.rows) return Status::InvalidArgument("a rewind to a later row");
  rocksdb::WriteBatch batch;
  return write(batch, covered, /*rewinding=*/true);
}

Status cdb_engine::erase(const uint8_t *names, size_t n) {
  if (!rewinding_) return Status::InvalidArgument("erase outside a rewind");
  rocksdb::WriteBatch batch(n * kEntryBytes);
  for (size_t i = 0; i < n; ++i) {
    const Status status = batch.Delete(name_at(names, i));
    if (!status.ok()) return status;
  }
  return write(batch, covered_, /*rewinding=*/true);
}

Status cdb_engine::end_rewind() {
  rocksdb::WriteBatch batch;
  return write(batch, covered_, /*rewinding=*/false);
}

// Erases the names above the watermark by reading all of the map: a crash has cut a rewind short.
Status cdb_engine::trim() {
  const std::unique_ptr<rocksdb::Iterator> entry(db_->NewIterator({}));
  std::vector<uint8_t> names;
  Status status;
  for (entry->SeekToFirst(); entry->Valid() && status.ok(); entry->Next()) {
    if (entry->key() == kWatermarkKey) continue;
    uint64_t row = 0;
    status = row_of(entry->value(), &row);
    if (row <= covered_.rows) continue;
    names.insert(names.end(), entry->key().data(), entry->key().data() + entry->key().size());
    if (names.size() < kTrimChunk * CDB_NAME_BYTES) continue;
    status = erase(names.data(), kTrimChunk);
    names.clear();
  }
  if (status.ok()) status = entry->status();
  if (status.ok()) status = erase(names.data(), names.size() / CDB_NAME_BYTES);
  if (status.ok()) status = end_rewind();
  return status.ok() ? flush() : status;
}

Status cdb_engine::write(rocksdb::WriteBatch &batch, const cdb_watermark &covered, bool rewinding) {
  if (read_only_) return Status::InvalidArgument(kReadOnly);
  const WatermarkBytes watermark = encode(covered, rewinding);
  const Status status = batch.Put(kWatermarkKey, {watermark.data(), watermark.size()});
  if (!status.ok()) return status;
  return move_watermark(covered, rewinding, [&] { return db_->Write(writing_, &batch); });
}

template <typename Write>
Status cdb_engine::move_watermark(const cdb_watermark &covered, bool rewinding, Write write) {
  // Readers must not see a row above the watermark: lower it before the write, raise it after.
  limit_ = std::min(covered_.rows, covered.rows);
  const Status status = write();
  if (!status.ok()) return status;
  covered_ = covered;
  rewinding_ = rewinding;
  limit_ = covered.rows;
  return status;
}

const char *cdb_engine_version(void) {
  static const std::string version = "RocksDB " + rocksdb::GetRocksVersionAsString();
  return version.c_str();
}

cdb_status cdb_engine_open(const char *path, const cdb_options *options, cdb_engine **engine,
                           cdb_error *error) {
  return guarded(error, [=] { check(cdb_engine::open(path, *options, engine)); });
}

cdb_status cdb_engine_close(cdb_engine *engine, cdb_error *error) {
  const std::unique_ptr<cdb_engine> owned(engine);
  return guarded(error, [&] { check(owned->close()); });
}

void cdb_engine_covered(const cdb_engine *engine, cdb_watermark *covered) {
  *covered = engine->covered();
}

cdb_status cdb_engine_find(cdb_engine *engine, const uint8_t *names, size_t n, uint64_t *rows,
                           cdb_error *error) {
  return guarded(error, [=] { check(engine->find(names, n, rows)); });
}

cdb_status cdb_engine_put(cdb_engine *engine, const uint8_t *names, size_t n,
                          const cdb_watermark *covered, cdb_error *error) {
  return guarded(error, [=] { check(engine->put(names, n, *covered)); });
}

cdb_status cdb_engine_begin_rewind(cdb_engine *engine, const cdb_watermark *covered,
                                   cdb_error *error) {
  return guarded(error, [=] { check(engine->begin_rewind(*covered)); });
}

cdb_status cdb_engine_erase(cdb_engine *engine, const uint8_t *names, size_t n, cdb_error *error) {
  return guarded(error, [=] { check(engine->erase(names, n)); });
}

cdb_status cdb_engine_end_rewind(cdb_engine *engine, cdb_error *error) {
  return guarded(error, [=] { check(engine->end_rewind()); });
}

cdb_status cdb_engine_flush(cdb_engine *engine, cdb_error *error) {
  return guarded(error, [=] { check(engine->flush()); });
}

cdb_status cdb_engine_settle(cdb_engine *engine, cdb_error *error) {
  return guarded(error, [=] { check(engine->settle()); });
}
