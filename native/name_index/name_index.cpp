// cdb_name_index.h over an ordered engine.
//
// One space. A coin name maps to its row id, 8 bytes little endian; the key "watermark", whose
// length no name has, maps to
//
//     rows (8, little endian) · 1 while a rewind is under way, else 0 (1) · tie (32)
//
// What a rewind erases maps to row 0. All is written as sorted runs, nothing through the engine's
// log: a log may go on where the engine's list of runs was cut short, and its watermark would speak
// of runs that are gone. A list that is cut short is one of an earlier time, watermark included.

#include "cdb_name_index_api.h"
#include "ordered_kv/ordered_kv.h"
#include "common/bytes.h"
#include "common/c_face.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using cdb::Bytes;
using cdb::Failure;
using cdb::guarded;
using cdb::coin_set::Engine;
using cdb::coin_set::Items;
using cdb::coin_set::memtable_bytes;
using cdb::coin_set::Run;
using cdb::coin_set::Scan;
using cdb::coin_set::Span;

namespace {

constexpr uint8_t kSpace = 0;
constexpr uint64_t kErased = 0;  // in a row id's place
constexpr size_t kRowBytes = sizeof(uint64_t);
constexpr size_t kWatermarkBytes = kRowBytes + 1 + CDB_NAME_BYTES;
constexpr size_t kTrimChunk = 50'000;  // names
constexpr size_t kPageEntries = 1024;
constexpr size_t kPageBytes = kPageEntries * kRowBytes;
constexpr std::string_view kWatermarkKey = "watermark";

using Watermark = std::array<uint8_t, kWatermarkBytes>;

Watermark encode(const cdb_watermark &covered, bool is_rewinding) {
  Watermark value;
  cdb::store(value.data(), covered.rows);
  value[kRowBytes] = is_rewinding ? 1 : 0;
  std::memcpy(value.data() + kRowBytes + 1, covered.tie, CDB_NAME_BYTES);
  return value;
}

uint64_t row_of(const Span &value) {
  if (value.n != kRowBytes) throw Failure(CDB_CORRUPT, "", "a row id is not 8 bytes long");
  return cdb::load<uint64_t>(value.bytes);
}

Span name_at(const uint8_t *names, size_t i) {
  return {names + i * CDB_NAME_BYTES, CDB_NAME_BYTES};
}

// The places of the names in ascending order.
std::vector<size_t> sorted(const uint8_t *names, size_t n) {
  std::vector<std::pair<uint64_t, size_t>> keyed(n);
  for (size_t i = 0; i < n; ++i) keyed[i] = {cdb::load_big_endian(names + i * CDB_NAME_BYTES), i};
  std::sort(keyed.begin(), keyed.end(), [names](const auto &a, const auto &b) {
    if (a.first != b.first) return a.first < b.first;
    return cdb::compare_names(name_at(names, a.second).bytes, name_at(names, b.second).bytes) < 0;
  });
  std::vector<size_t> places(n);
  std::transform(keyed.begin(), keyed.end(), places.begin(),
                 [](const auto &pair) { return pair.second; });
  return places;
}

// Calls each(i) for the names in ascending order, and watermark() where its key is among them.
template <typename Each, typename AtWatermark>
void in_key_order(const uint8_t *names, size_t n, Each each, AtWatermark watermark) {
  bool is_behind = false;
  for (const size_t i : sorted(names, n)) {
    const uint8_t *const name = name_at(names, i).bytes;
    if (!is_behind && std::memcmp(name, kWatermarkKey.data(), kWatermarkKey.size()) >= 0) {
      watermark();
      is_behind = true;
    }
    each(i);
  }
  if (!is_behind) watermark();
}

Engine opened(const char *path, const cdb_name_index_options &wanted) {
  const okv_space space{"names", OKV_RANDOM, 0, 0};
  okv_options options{};
  options.read_only = wanted.read_only;
  options.mostly = OKV_PROCESS;
  options.cache_bytes = wanted.cache_bytes;
  options.memtable_bytes = memtable_bytes(wanted.cache_bytes);
  options.n_spaces = 1;
  options.spaces = &space;
  try {
    return Engine(path, options);
  } catch (const Failure &failure) {
    if (wanted.read_only != 0 || failure.status() != CDB_NOT_FOUND) throw;
  }
  options.create = 1;
  return Engine(path, options);
}

}  // namespace

struct cdb_name_index {
 public:
  cdb_name_index(const char *path, const cdb_name_index_options &options);
  void close();
  void find(const uint8_t *names, size_t n, uint64_t *rows) const;
  void put(const uint8_t *names, size_t n, const cdb_watermark &covered);
  void begin_rewind(const cdb_watermark &covered);
  void erase(const uint8_t *names, size_t n);
  void end_rewind();
  void verify() const { engine_.verify(); }
  void settle();
  const cdb_watermark &covered() const { return covered_; }

 private:
  void load_watermark();
  void trim();
  void write(const uint8_t *names, size_t n, uint64_t first_row, const cdb_watermark &covered,
             bool is_rewinding);

  Engine engine_;
  const bool is_read_only_;
  bool is_rewinding_ = false;
  cdb_watermark covered_{};
  std::atomic<uint64_t> limit_{0};  // covered_.rows, for readers in other threads
};

cdb_name_index::cdb_name_index(const char *path, const cdb_name_index_options &options)
    : engine_(opened(path, options)), is_read_only_(options.read_only != 0) {
  load_watermark();
  if (is_rewinding_ && !is_read_only_) trim();
}

// Every write carries the watermark, so where it is missing nothing else is ours either.
void cdb_name_index::load_watermark() {
  Bytes value;
  if (!engine_.get(kSpace, kWatermarkKey, &value)) {
    Scan any(engine_, kSpace, {}, {}, /*is_reverse=*/false, OKV_ONCE, kPageBytes);
    if (!any.read(1)) return;
    throw Failure(CDB_FOREIGN, "", "this is not an index of cdb's (it has no watermark)",
                  "name another path");
  }
  if (value.size() != kWatermarkBytes)
    throw Failure(CDB_CORRUPT, "", "the watermark's length is wrong");
  covered_.rows = cdb::load<uint64_t>(value.data());
  is_rewinding_ = value[kRowBytes] != 0;
  std::memcpy(covered_.tie, value.data() + kRowBytes + 1, CDB_NAME_BYTES);
  limit_ = covered_.rows;
}

void cdb_name_index::close() {
  if (!is_read_only_) engine_.checkpoint();
  engine_.close();
}

void cdb_name_index::settle() {
  engine_.checkpoint();
  engine_.settle();
}

void cdb_name_index::find(const uint8_t *names, size_t n, uint64_t *rows) const {
  const std::vector<size_t> order = sorted(names, n);
  const uint64_t limit = limit_;
  Items keys;
  keys.reserve(n, CDB_NAME_BYTES);
  Bytes values(n * kRowBytes);
  std::vector<okv_wanted> wanted(n);
  for (size_t i = 0; i < n; ++i) {
    keys.add(name_at(names, order[i]));
    wanted[i] = {0, kRowBytes, values.data() + i * kRowBytes, 0};
  }
  engine_.get_many(kSpace, keys, &wanted, OKV_OFTEN);
  for (size_t i = 0; i < n; ++i) {
    const uint32_t length = wanted[i].length;
    const uint64_t row = length == OKV_ABSENT ? 0 : row_of({wanted[i].to, length});
    rows[order[i]] = row <= limit ? row : 0;
  }
}

void cdb_name_index::put(const uint8_t *names, size_t n, const cdb_watermark &covered) {
  if (is_rewinding_) throw Failure(CDB_INVALID, "", "put within a rewind");
  if (covered.rows != covered_.rows + n)
    throw Failure(CDB_INVALID, "", "the names are not those of the rows up to the watermark");
  if (n == 0) return;
  write(names, n, covered_.rows + 1, covered, /*is_rewinding=*/false);
}

void cdb_name_index::begin_rewind(const cdb_watermark &covered) {
  if (covered.rows > covered_.rows) throw Failure(CDB_INVALID, "", "a rewind to a later row");
  write(nullptr, 0, kErased, covered, /*is_rewinding=*/true);
}

void cdb_name_index::erase(const uint8_t *names, size_t n) {
  if (!is_rewinding_) throw Failure(CDB_INVALID, "", "erase outside a rewind");
  write(names, n, kErased, covered_, /*is_rewinding=*/true);
}

void cdb_name_index::end_rewind() { write(nullptr, 0, kErased, covered_, /*is_rewinding=*/false); }

// Erases the names above the watermark by reading all of the map: a crash has cut a rewind short.
void cdb_name_index::trim() {
  Scan entries(engine_, kSpace, {}, {}, /*is_reverse=*/false, OKV_ONCE, kPageBytes);
  Bytes names;
  for (; entries.read(kPageEntries); entries.drop(entries.n())) {
    for (size_t i = 0; i < entries.n(); ++i) {
      const Span key = entries.key(i);
      if (key == Span(kWatermarkKey)) continue;
      if (row_of(entries.value(i)) <= covered_.rows) continue;
      if (key.n != CDB_NAME_BYTES) throw Failure(CDB_CORRUPT, "", "a name is not 32 bytes long");
      names.insert(names.end(), key.bytes, key.bytes + key.n);
    }
    if (names.size() < kTrimChunk * CDB_NAME_BYTES) continue;
    erase(names.data(), names.size() / CDB_NAME_BYTES);
    names.clear();
  }
  erase(names.data(), names.size() / CDB_NAME_BYTES);
  end_rewind();
}

// The names, of the rows from first_row on or erased, and the watermark become one sorted run,
// which costs a fraction of what a commit of them does, and is durable at once.
void cdb_name_index::write(const uint8_t *names, size_t n, uint64_t first_row,
                           const cdb_watermark &covered, bool is_rewinding) {
  Run run(engine_, kSpace);
  std::array<uint8_t, kRowBytes> row;
  in_key_order(
      names, n,
      [&](size_t i) {
        cdb::store(row.data(), first_row == kErased ? kErased : first_row + i);
        run.put(name_at(names, i), row);
      },
      [&] { run.put(kWatermarkKey, encode(covered, is_rewinding)); });
  run.finish();
  // Readers must not see a row above the watermark: lower it before the write, raise it after.
  limit_ = std::min(covered_.rows, covered.rows);
  Run::ingest(engine_, {&run});
  covered_ = covered;
  is_rewinding_ = is_rewinding;
  limit_ = covered.rows;
}

const char *cdb_name_index_version(void) { return okv_version(); }

cdb_status cdb_name_index_open(const char *path, const cdb_name_index_options *options,
                               cdb_name_index **index, cdb_error *error) {
  return guarded(error,
                 [=] { *index = std::make_unique<cdb_name_index>(path, *options).release(); });
}

cdb_status cdb_name_index_close(cdb_name_index *index, cdb_error *error) {
  const std::unique_ptr<cdb_name_index> owned(index);
  return guarded(error, [&] { owned->close(); });
}

void cdb_name_index_covered(const cdb_name_index *index, cdb_watermark *covered) {
  *covered = index->covered();
}

cdb_status cdb_name_index_find(cdb_name_index *index, const uint8_t *names, size_t n,
                               uint64_t *rows, cdb_error *error) {
  return guarded(error, [=] { index->find(names, n, rows); });
}

cdb_status cdb_name_index_put(cdb_name_index *index, const uint8_t *names, size_t n,
                              const cdb_watermark *covered, cdb_error *error) {
  return guarded(error, [=] { index->put(names, n, *covered); });
}

cdb_status cdb_name_index_begin_rewind(cdb_name_index *index, const cdb_watermark *covered,
                                       cdb_error *error) {
  return guarded(error, [=] { index->begin_rewind(*covered); });
}

cdb_status cdb_name_index_erase(cdb_name_index *index, const uint8_t *names, size_t n,
                                cdb_error *error) {
  return guarded(error, [=] { index->erase(names, n); });
}

cdb_status cdb_name_index_end_rewind(cdb_name_index *index, cdb_error *error) {
  return guarded(error, [=] { index->end_rewind(); });
}

cdb_status cdb_name_index_verify(cdb_name_index *index, cdb_error *error) {
  return guarded(error, [=] { index->verify(); });
}

cdb_status cdb_name_index_settle(cdb_name_index *index, cdb_error *error) {
  return guarded(error, [=] { index->settle(); });
}
