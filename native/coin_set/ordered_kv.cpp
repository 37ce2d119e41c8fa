#include "ordered_kv.h"

#include <algorithm>
#include <utility>

namespace cdb::coin_set {

namespace {

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

}  // namespace

Engine::Engine(const std::string &path, const okv_options &options) {
  okv *kv = nullptr;
  call(okv_open, path.c_str(), &options, &kv);
  kv_.reset(kv);
}

void Engine::Closer::operator()(okv *kv) const {
  cdb_error ignored;
  okv_close(kv, &ignored);
}

void Engine::close() { call(okv_close, kv_.release()); }

okv_stats Engine::stats() const {
  okv_stats stats;
  call(okv_get_stats, kv_.get(), &stats);
  return stats;
}

void Engine::get_many(uint8_t space, const Items &keys, std::vector<okv_wanted> *wanted,
                      okv_reuse reuse) const {
  if (keys.n() > 0) call(okv_get_many, kv_.get(), space, keys.view(), wanted->data(), reuse);
}

bool Engine::get(uint8_t space, const Span &key, Bytes *value) const {
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

void Engine::checkpoint() { call(okv_checkpoint, kv_.get()); }

void Engine::settle() { call(okv_settle, kv_.get()); }

void Engine::verify() const { call(okv_verify, kv_.get()); }

void Batch::commit(const Engine &to, okv_durability durability) const {
  call(okv_commit, to.get(), ops_.data(), keys_.view(), values_.view(), durability);
}

Run::Run(const Engine &of, uint8_t space) {
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

Scan::Scan(const Engine &of, uint8_t space, const Span &first, const Span &end, bool is_reverse,
           okv_reuse reuse, size_t page_bytes)
    : keys_(page_bytes / 4), values_(page_bytes) {
  const okv_bounds bounds{first.bytes, first.n, end.bytes, end.n};
  okv_scan *scan = nullptr;
  call(okv_scan_begin, of.get(), space, &bounds, is_reverse ? 1 : 0, reuse, &scan);
  scan_.reset(scan);
}

bool Scan::read(size_t most) {
  const size_t n_before = page_.n;
  do {
    make_room(most);
    call(okv_scan_next, scan_.get(), &page_);
  } while (page_.n == n_before && page_.is_end == 0);
  return page_.n > n_before;
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
