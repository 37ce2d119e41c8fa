#include "ordered_kv/ordered_kv.h"

#include "common/checksum.h"
#include "common/fault_points.h"

#include <algorithm>
#include <utility>

namespace cdb::coin_set {

namespace {

constexpr size_t kVerifiedEntries = 1024;  // at once
constexpr size_t kVerifiedBytes = 64u << 10;

// Calls a function of the engine with room for an error, and throws that.
template <typename Function, typename... Arguments>
void call(Function function, Arguments... arguments) {
  cdb_error error;
  if (function(arguments..., &error) != CDB_OK) throw Failure(error);
}

// Drops the first n items.
void drop_items(size_t n, size_t n_all, Bytes *bytes, std::vector<uint64_t> *ends) {
  const uint64_t dropped = (*ends)[n - 1];
  std::memmove(bytes->data(), bytes->data() + dropped, (*ends)[n_all - 1] - dropped);
  for (size_t i = n; i < n_all; ++i) (*ends)[i - n] = (*ends)[i] - dropped;
}

Failure damage() {
  return {CDB_CORRUPT, kUnverifiedFile, "an entry of it does not match its checksum"};
}

// What a value is without its checksum. Throws where that does not hold.
Span verified(uint8_t space, const Span &key, const Span &stored) {
  if (stored.n < kChecksumBytes) throw damage();
  const Span value(stored.bytes, stored.n - kChecksumBytes);
  const Checksum sum = checksum_of(space, key, value);
  if (std::memcmp(value.bytes + value.n, sum.data(), sum.size()) != 0) throw damage();
  return value;
}

Span key_at(const okv_items &keys, size_t i) {
  const uint64_t begin = i == 0 ? 0 : keys.ends[i - 1];
  return {keys.bytes + begin, keys.ends[i] - begin};
}

size_t longest_of(const std::vector<okv_wanted> &all) {
  size_t longest = 0;
  for (const okv_wanted &one : all)
    if (one.length != OKV_ABSENT) longest = std::max<size_t>(longest, one.length);
  return longest;
}

void copy_wanted(const Span &value, okv_wanted *wanted) {
  wanted->length = static_cast<uint32_t>(value.n);
  if (wanted->from >= value.n || wanted->most == 0) return;
  const size_t n = std::min<size_t>(wanted->most, value.n - wanted->from);
  std::memcpy(wanted->to, value.bytes + wanted->from, n);
}

}  // namespace

// The key's own checksum is the seed, so that neither can take the other's bytes.
Checksum checksum_of(uint8_t space, const Span &key, const Span &value) {
  Checksum sum{};
  if constexpr (kAddsChecksums) {
    const uint64_t seed = checksum(key.bytes, key.n, space);
    store(sum.data(), static_cast<uint32_t>(checksum(value.bytes, value.n, seed)));
  }
  return sum;
}

Engine::Engine(const std::string &path, const okv_options &options) {
  call(okv_open, path.c_str(), &options, &kv_);
}

Engine::~Engine() {
  cdb_error ignored;
  if (kv_ != nullptr) okv_close(kv_, &ignored);
}

void Engine::close() { call(okv_close, std::exchange(kv_, nullptr)); }

Snapshot::Snapshot(const Source &of) {
  kv_ = of.get();
  if (!CDB_FAULT("view-is-the-newest")) call(okv_view_begin, kv_, &view_);
}

okv_stats Source::stats() const {
  okv_stats stats;
  call(okv_get_stats, kv_, &stats);
  return stats;
}

void Source::get_many(uint8_t space, const Items &keys, std::vector<okv_wanted> *wanted,
                      okv_reuse reuse) const {
  if (keys.n() == 0) return;
  if constexpr (kAddsChecksums)
    get_verified(space, keys.view(), wanted->data(), reuse);
  else
    call(okv_get_many, kv_, view_, space, keys.view(), wanted->data(), reuse);
}

// Whatever is wanted of a value, all of it is verified. All have room for one that is as long as
// any before it, or as most can be; what is longer still is looked up alone.
void Source::get_verified(uint8_t space, const okv_items &keys, okv_wanted *wanted,
                          okv_reuse reuse) const {
  constexpr size_t kMostRoom = 4u << 10;
  size_t room = std::max(longest_[space].load(), kChecksumBytes);
  Bytes bytes;
  std::vector<okv_wanted> stored(keys.n);
  for (bool has_room = false; !has_room;) {
    bytes.resize(keys.n * room);
    for (size_t i = 0; i < keys.n; ++i)
      stored[i] = {0, static_cast<uint32_t>(room), bytes.data() + i * room, 0};
    call(okv_get_many, kv_, view_, space, keys, stored.data(), reuse);
    const size_t longest = std::min(longest_of(stored), kMostRoom);
    has_room = longest <= room;
    if (!has_room) longest_[space] = room = longest;
  }
  for (size_t i = 0; i < keys.n; ++i) {
    const size_t length = stored[i].length;
    wanted[i].length = OKV_ABSENT;
    if (length == OKV_ABSENT) continue;
    const Span key = key_at(keys, i);
    Bytes whole;
    if (length > room) whole = get_whole(space, key, length, reuse);
    const Span value = length > room ? Span(whole) : Span(stored[i].to, length);
    copy_wanted(verified(space, key, value), &wanted[i]);
  }
}

// A value with its checksum, which had n_bytes just now.
Bytes Source::get_whole(uint8_t space, const Span &key, size_t n_bytes, okv_reuse reuse) const {
  Items keys;
  keys.add(key);
  Bytes whole(n_bytes);
  okv_wanted stored{0, static_cast<uint32_t>(n_bytes), whole.data(), 0};
  call(okv_get_many, kv_, view_, space, keys.view(), &stored, reuse);
  if (stored.length != n_bytes) throw damage();  // nobody changes a value that is there
  return whole;
}

bool Source::get(uint8_t space, const Span &key, Bytes *value) const {
  Items keys;
  keys.add(key);
  value->resize(256);
  for (;;) {
    std::vector<okv_wanted> wanted{{0, static_cast<uint32_t>(value->size()), value->data(), 0}};
    get_many(space, keys, &wanted, OKV_OFTEN);
    if (wanted[0].length == OKV_ABSENT) return false;
    const bool is_whole = wanted[0].length <= value->size();
    value->resize(wanted[0].length);
    if (is_whole) return true;
  }
}

okv_page Nearest::room(size_t n, size_t key_bytes, size_t value_bytes) {
  found_.resize(n);
  keys_.resize(key_bytes);
  values_.resize(value_bytes);
  key_ends_.resize(n);
  value_ends_.resize(n);
  okv_page page{};
  page.keys = keys_.data();
  page.keys_capacity = keys_.size();
  page.key_ends = key_ends_.data();
  page.values = values_.data();
  page.values_capacity = values_.size();
  page.value_ends = value_ends_.data();
  page.most = n;
  return page;
}

Nearest Source::seek_many(uint8_t space, const Items &keys, const Seek &how,
                          okv_reuse reuse) const {
  Nearest nearest;
  if (keys.n() == 0) return nearest;
  const size_t n = keys.n();
  size_t key_bytes = keys.n_bytes() + n * how.suffix_bytes;
  size_t value_bytes = n * (how.value_bytes + (kAddsChecksums ? kChecksumBytes : 0));
  for (size_t done = 0;; key_bytes *= 2, value_bytes *= 2) {
    okv_page page = nearest.room(n, key_bytes, value_bytes);
    call(okv_seek_many, kv_, view_, space, keys.view(), how.suffix_bytes, how.is_before ? 1 : 0,
         reuse, &page, nearest.found_.data(), &done);
    if (done == n) break;
  }
  if constexpr (kAddsChecksums) nearest.verify(space);
  return nearest;
}

// Takes the checksums out of the values.
void Nearest::verify(uint8_t space) {
  uint64_t begin = 0, end = 0;
  for (size_t i = 0, n = 0; i < found_.size(); ++i) {
    if (found_[i] == 0) continue;
    const Span stored(values_.data() + begin, value_ends_[n] - begin);
    begin = value_ends_[n];
    const Span value = verified(space, item(keys_, key_ends_, n), stored);
    std::memmove(values_.data() + end, value.bytes, value.n);
    value_ends_[n++] = end += value.n;
  }
}

void Engine::checkpoint() { call(okv_checkpoint, kv_); }

void Engine::settle() { call(okv_settle, kv_); }

void Engine::verify() const {
  call(okv_verify, kv_);
  if constexpr (kAddsChecksums)
    for (uint64_t space = 0, n_spaces = stats().n_spaces; space < n_spaces; ++space) {
      Scan all(*this, static_cast<uint8_t>(space), {}, {}, /*is_reverse=*/false, OKV_ONCE,
               kVerifiedBytes);
      while (all.read(kVerifiedEntries)) all.drop(all.n());
    }
}

void Batch::commit(const Engine &to, okv_durability durability) const {
  call(okv_commit, to.get(), ops_.data(), keys_.view(), values_.view(), durability);
}

Run::Run(const Engine &of, uint8_t space) : space_(space) {
  okv_run *run = nullptr;
  call(okv_run_begin, of.get(), space, &run);
  run_.reset(run);
}

void Run::write_page() {
  call(okv_run_add, run_.get(), keys_.view(), values_.view());
  keys_.clear();
  values_.clear();
}

void Run::finish() {
  write_page();
  call(okv_run_finish, run_.get());
}

void Run::ingest(const Engine &to, const std::vector<const Run *> &runs) {
  std::vector<okv_run *> handles;
  for (const Run *run : runs) handles.push_back(run->run_.get());
  call(okv_ingest, to.get(), handles.data(), handles.size());
}

Scan::Scan(const Source &of, uint8_t space, const Span &first, const Span &end, bool is_reverse,
           okv_reuse reuse, size_t page_bytes)
    : space_(space), keys_(page_bytes / 4), values_(page_bytes) {
  const okv_bounds bounds{first.bytes, first.n, end.bytes, end.n};
  okv_scan *scan = nullptr;
  call(okv_scan_begin, of.get(), of.view(), space, &bounds, is_reverse ? 1 : 0, reuse, &scan);
  scan_.reset(scan);
}

bool Scan::read(size_t most) {
  const size_t n_before = page_.n;
  do {
    make_room(most);
    if (is_damaged_) throw damage();
    call(okv_scan_next, scan_.get(), &page_);
    if constexpr (kAddsChecksums) verify(n_before);
  } while (page_.n == n_before && page_.is_end == 0);
  return page_.n > n_before;
}

// Takes the checksums out of the values from the first one on. What comes before one that does not
// hold is good.
void Scan::verify(size_t first) {
  uint64_t end = first == 0 ? 0 : value_ends_[first - 1];
  uint64_t begin = end;
  for (size_t i = first; i < page_.n; ++i) {
    const Span stored(values_.data() + begin, value_ends_[i] - begin);
    begin = value_ends_[i];
    try {
      const Span value = verified(space_, key(i), stored);
      std::memmove(values_.data() + end, value.bytes, value.n);
      value_ends_[i] = end += value.n;
    } catch (const Failure &) {
      is_damaged_ = true;
      page_.n = i;
      if (i == first) throw;
    }
  }
}

// Doubled, so that what is there is copied but once on average.
void Scan::make_room(size_t most) {
  if (keys_.size() < page_.keys_needed) keys_.resize(std::max(2 * keys_.size(), page_.keys_needed));
  if (values_.size() < page_.values_needed)
    values_.resize(std::max(2 * values_.size(), page_.values_needed));
  if (key_ends_.size() < most) {
    key_ends_.resize(most);
    value_ends_.resize(most);
  }
  page_.keys = keys_.data();
  page_.keys_capacity = keys_.size();
  page_.key_ends = key_ends_.data();
  page_.values = values_.data();
  page_.values_capacity = values_.size();
  page_.value_ends = value_ends_.data();
  page_.most = most;
}

void Scan::drop(size_t n) {
  if (n == 0) return;
  drop_items(n, page_.n, &keys_, &key_ends_);
  drop_items(n, page_.n, &values_, &value_ends_);
  page_.n -= n;
}

}  // namespace cdb::coin_set
