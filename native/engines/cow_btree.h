// The types of cdb_ordered_kv.h over a copy-on-write B-tree in one mapped file, of which each space
// is a tree of its own: for an engine that includes, before this, a library.h with
//
//   Environment   an opened file: read(), write(), newest(), check_kept(), after_commit(), sync(),
//                 map(), map_bytes(), grow()
//   what the library calls a transaction, a cursor, a space and a value; and reach(), put(),
//   append(), erase(), open_space(), n_entries(), n_writes(), which do with them as they say;
//   beside(), a transaction that one thread may use while others use those of the same moment
//
// One process writes. Other openings are read only: each reads one transaction as long as it lives.
#pragma once

#include "common/fault_points.h"
#include "common/file_lock.h"
#include "common/lost_pages.h"
#include "collected.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using cdb::Failure;
using cdb::btree::Cursor;
using cdb::btree::kDataFile;
using cdb::btree::open_cursor;
using cdb::btree::reach;
using cdb::btree::Space;
using cdb::btree::Transaction;
using cdb::btree::Txn;
using cdb::btree::Value;
using cdb::engines::add_nearest;
using cdb::engines::copy_wanted;
using cdb::engines::InTurn;
using cdb::engines::Item;
using cdb::engines::Place;
using cdb::engines::Seeks;

namespace cdb::btree {

constexpr size_t kMostScans = 1000;     // at once
constexpr unsigned kMostLookUps = 500;  // beside them, so that neither waits for the other

Value as_value(const Item &item) { return cdb::btree::value_of(item.bytes, item.n); }

Item as_item(const Value &value) {
  return {cdb::btree::bytes_of(value), cdb::btree::size_of(value)};
}

bool is_same(const Item &a, const Item &b) {
  return a.n == b.n && std::memcmp(a.bytes, b.bytes, a.n) == 0;
}

// Puts entries of one space that ascend.
class Putting {
 public:
  Putting(Txn *transaction, Space space) : cursor_(open_cursor(transaction, space)) {}
  // What lies behind all that is there fills pages one after the other.
  void put(Value key, Value value) {
    if (appends_) appends_ = cdb::btree::append(cursor_, key, value);
    if (!appends_ && !CDB_FAULT("btree-entry-between-lost")) cdb::btree::put(cursor_, key, value);
  }
  void put_all(const okv_items &keys, const okv_items &values) {
    InTurn key(keys), value(values);
    for (size_t i = 0; i < keys.n; ++i) put(as_value(key.next()), as_value(value.next()));
  }
  void erase(Value key) {
    Value value;
    if (reach(cursor_, cdb::btree::kAt, &key, &value)) cdb::btree::erase(cursor_);
  }

 private:
  const Cursor cursor_;
  bool appends_ = true;
};

}  // namespace cdb::btree

using cdb::btree::as_item;
using cdb::btree::as_value;
using cdb::btree::is_same;
using cdb::btree::kMostLookUps;
using cdb::btree::kMostScans;
using cdb::btree::Putting;

struct okv {
 public:
  okv(const char *path, const okv_options &wanted);

  void open(const okv_options &wanted);
  void close() {}
  okv_stats stats();
  void commit(const okv_op *ops, const okv_items &keys, const okv_items &values,
              okv_durability durability);
  void ingest(okv_run *const *runs, size_t n_runs);
  void get_many(const okv_view *view, uint8_t space, const okv_items &keys, okv_wanted *wanted,
                okv_reuse);
  void seek_many(const okv_view *view, const Seeks &seeks, okv_page *page, uint8_t *found,
                 size_t *done);
  void checkpoint() { env_->sync(); }
  void settle() { checkpoint(); }
  void verify();

  // What a body concludes counts only if all pages could be read, and were kept.
  template <typename Body>
  void reading(Body body) {
    try {
      with_readable_mappings(*lost_pages_, body);
    } catch (...) {
      check_whole();
      check_kept();
      throw;
    }
    check_kept();
  }
  template <typename Body>
  void writing(Body body) {
    if (is_read_only_) throw Failure(CDB_INVALID, "", "it was opened read-only");
    reading(body);
  }

  // A transaction to read in, which keeps the map where it is.
  std::shared_ptr<Txn> view();
  std::shared_ptr<Txn> view(const okv_view *given);
  // One that may last, with the place that tells a growing map not to wait for its end.
  std::shared_ptr<Txn> lasting_view(std::optional<Place> *place);
  Space space(uint8_t number) const { return spaces_.at(number); }

 private:
  void create(const okv_options &wanted) const;
  void open_file(const okv_options &wanted);
  void open_spaces(Txn *transaction, const okv_options &wanted);
  void check_whole() const;
  void check_kept() const;
  template <typename Fill>
  void write(okv_durability durability, Fill fill);
  void make_durable();
  std::shared_ptr<Txn> begin_view();
  void grow();
  void guard_map();

  const std::string path_;
  const bool is_read_only_;
  const bool is_synced_;  // by each commit
  const std::shared_ptr<cdb::LostPages> lost_pages_ = std::make_shared<cdb::LostPages>();
  std::optional<cdb::FileLock> writer_;
  size_t opened_bytes_ = 0;
  bool is_mapped_ = true;
  std::optional<cdb::btree::Environment> env_;
  std::optional<cdb::GuardedMapping> mapping_;  // goes first, for the environment unmaps it
  std::shared_ptr<Txn> opened_;                 // of a reader, which sees nothing else
  std::vector<Space> spaces_;
  std::shared_mutex map_mutex_;
  std::atomic<size_t> n_views_{0}, n_scans_{0};
  std::atomic<uint64_t> ingests_{0};
};

struct okv_run {
 public:
  okv_run(okv *, uint8_t space) : space_(space) {}
  uint8_t space() const { return space_; }
  bool is_empty() const { return entries_.is_empty(); }
  void add(const okv_items &keys, const okv_items &values) { entries_.add(keys, values); }
  void finish() {}
  void put(Txn *transaction, Space space) const {
    Putting putting(transaction, space);
    entries_.each([&](const auto &keys, const auto &values) { putting.put_all(keys, values); });
  }

 private:
  const uint8_t space_;
  cdb::engines::Collected entries_;
};

struct okv_view {
 public:
  explicit okv_view(okv *kv) : view_(kv->lasting_view(&place_)) {}
  const std::shared_ptr<Txn> &transaction() const { return view_; }

 private:
  std::optional<Place> place_;
  const std::shared_ptr<Txn> view_;
};

struct okv_scan {
 public:
  okv_scan(okv *kv, const okv_view *view, uint8_t space, const okv_bounds &bounds, bool is_reverse,
           okv_reuse);
  void next(okv_page *page) {
    paging_.next(page, [this](Item *key, Item *value) { return step(key, value); });
  }
  okv *kv() const { return kv_; }

 private:
  bool step(Item *key, Item *value);
  bool begin();
  bool seek(const std::string &key, cdb::btree::To if_empty);
  bool move(cdb::btree::To to) { return reach(cursor_, to, &key_, &value_); }

  okv *const kv_;
  const std::string first_, end_;
  const bool is_reverse_;
  std::optional<Place> place_;  // unless it is the view's
  const std::shared_ptr<Txn> view_;
  const Cursor cursor_;
  Value key_{}, value_{};  // at which the cursor is
  bool is_begun_ = false;
  cdb::engines::Paging paging_;
};

okv::okv(const char *path, const okv_options &wanted)
    : path_(path), is_read_only_(wanted.read_only != 0), is_synced_(wanted.mostly == OKV_POWER) {}

void okv::open(const okv_options &wanted) {
  if (!is_read_only_) {
    writer_.emplace(path_, O_RDONLY | O_DIRECTORY, "");
    if (!writer_->try_lock(LOCK_EX))
      throw Failure(CDB_LOCKED, "", "somebody has it open for writing", "close it there first");
  }
  if (::access((path_ + "/" + kDataFile).c_str(), F_OK) != 0) {
    if (wanted.create == 0 || is_read_only_)
      throw Failure(CDB_NOT_FOUND, "", std::string("it has no file ") + kDataFile);
    create(wanted);
  }
  open_file(wanted);
  if (is_read_only_) {
    opened_ = env_->newest();
    open_spaces(opened_.get(), wanted);
    return;
  }
  if (!CDB_FAULT("btree-opening-not-synced")) make_durable();
  Transaction opening = wanted.n_late_spaces > 0 ? env_->write() : env_->read();
  open_spaces(opening.get(), wanted);
  cdb::btree::commit(std::move(opening));
}

// In one step: what a crash leaves of it is not there.
void okv::create(const okv_options &wanted) const {
  const std::string unfinished = path_ + "/" + cdb::btree::kUnfinishedFile;
  std::remove(unfinished.c_str());
  cdb::btree::Handle made = cdb::btree::make_file(unfinished, wanted.n_spaces);
  Transaction making = cdb::btree::begin(made, false);
  for (size_t i = 0; i < wanted.n_spaces; ++i)
    cdb::btree::open_space(making.get(), wanted.spaces[i].name, true);
  cdb::btree::commit(std::move(making));
  made.reset();
  cdb::btree::remove_beside(unfinished);
  if (std::rename(unfinished.c_str(), (path_ + "/" + kDataFile).c_str()) != 0)
    throw Failure(CDB_IO, kDataFile, "it can't be made").because_of(errno);
}

// What is there may be what a process has left that was killed before it could sync it.
void okv::make_durable() {
  checkpoint();
  if (::fsync(writer_->descriptor()) != 0)
    throw Failure(CDB_IO, "", "it can't be synced").because_of(errno);
}

void okv::open_file(const okv_options &wanted) {
  env_.emplace(path_, wanted, kMostScans + kMostLookUps);
  opened_bytes_ = cdb::btree::file_bytes(path_ + "/" + kDataFile);
  if (opened_bytes_ < cdb::btree::kLeastFileBytes)  // a new database would be begun in it
    throw Failure(CDB_CORRUPT, kDataFile, "it is cut").at(opened_bytes_);
  env_->open(cdb::btree::first_map_bytes(opened_bytes_));
  guard_map();
  env_->begin();
}

// Where a page can't be read, or is behind the end of a file that was cut.
void okv::guard_map() {
  void *const map = env_->map();
  if (map != nullptr)
    mapping_.emplace(map, env_->map_bytes(), kDataFile, lost_pages_);
  else if (::access("/proc/self/maps", F_OK) == 0)
    throw Failure(CDB_IO, kDataFile, "where it is mapped can't be found").because_of(errno);
}

void okv::open_spaces(Txn *transaction, const okv_options &wanted) {
  for (size_t i = 0; i < wanted.n_spaces; ++i) {
    const bool is_late = i >= wanted.n_spaces - wanted.n_late_spaces;
    const char *const name = wanted.spaces[i].name;
    const std::optional<Space> space =
        cdb::btree::open_space(transaction, name, is_late && !is_read_only_);
    if (!space && is_late) break;  // so are those behind it, and nobody asks
    if (!space) throw Failure(CDB_CORRUPT, kDataFile, std::string("it has no ") + name);
    spaces_.push_back(*space);
  }
}

// Whether what could not be read was there when it was opened.
void okv::check_whole() const {
  if (lost_pages_->any() && lost_pages_->offset() >= opened_bytes_)
    throw Failure(CDB_CORRUPT, kDataFile, "it is cut").at(opened_bytes_);
}

void okv::check_kept() const {
  if (opened_ != nullptr) env_->check_kept(opened_.get());
}

okv_stats okv::stats() { return {cdb::btree::n_writes(view().get()), ingests_, spaces_.size()}; }

std::shared_ptr<Txn> okv::view() {
  const std::shared_lock<std::shared_mutex> no_other_map(map_mutex_);
  return begin_view();
}

std::shared_ptr<Txn> okv::lasting_view(std::optional<Place> *place) {
  const std::shared_lock<std::shared_mutex> no_other_map(map_mutex_);
  place->emplace(&n_scans_, kMostScans);
  return begin_view();
}

// The map must not change meanwhile.
std::shared_ptr<Txn> okv::begin_view() {
  if (opened_ != nullptr) return cdb::btree::beside(opened_);
  if (!is_mapped_) throw Failure(CDB_LIMIT, kDataFile, "it can't be mapped", "open it again");
  Transaction state = env_->read();
  ++n_views_;
  return {state.release(), [this](Txn *transaction) {
            Transaction(transaction).reset();
            --n_views_;
          }};
}

std::shared_ptr<Txn> okv::view(const okv_view *given) {
  return given != nullptr ? cdb::btree::beside(given->transaction()) : view();
}

void okv::get_many(const okv_view *given, uint8_t number, const okv_items &keys, okv_wanted *wanted,
                   okv_reuse) {
  const std::shared_ptr<Txn> state = view(given);
  const Cursor cursor = open_cursor(state.get(), space(number));
  InTurn next_key(keys);
  for (size_t i = 0; i < keys.n; ++i) {
    Value key = as_value(next_key.next()), value;
    wanted[i].length = OKV_ABSENT;
    if (reach(cursor, cdb::btree::kAt, &key, &value)) copy_wanted(as_item(value), &wanted[i]);
  }
}

void okv::seek_many(const okv_view *given, const Seeks &seeks, okv_page *page, uint8_t *found,
                    size_t *done) {
  const std::shared_ptr<Txn> state = view(given);
  const Cursor cursor = open_cursor(state.get(), space(seeks.space));
  const auto nearest = [&](const Item &sought, Item *found_key, Item *found_value) {
    Value key = as_value(sought), value;
    bool is_there = reach(cursor, cdb::btree::kAtOrBehind, &key, &value);
    const bool is_behind = is_there && !is_same(as_item(key), sought);
    if (seeks.is_before && (is_behind || !is_there))
      is_there = reach(cursor, is_behind ? cdb::btree::kPrevious : cdb::btree::kLast, &key, &value);
    if (!is_there) return false;
    *found_key = as_item(key);
    *found_value = as_item(value);
    return true;
  };
  add_nearest(seeks, nearest, page, found, done);
}

// Fills a transaction, and again where the map has no room for it.
template <typename Fill>
void okv::write(okv_durability durability, Fill fill) {
  for (bool is_written = false; !is_written;) {
    try {
      Transaction next = env_->write();
      fill(next.get());
      cdb::btree::count_write(next.get());
      check_readable(*lost_pages_);
      cdb::btree::commit(std::move(next));
      is_written = true;
    } catch (const cdb::btree::MapFull &) {
      grow();
    }
  }
  if (durability == OKV_POWER && !is_synced_) checkpoint();
  env_->after_commit();
}

void okv::commit(const okv_op *ops, const okv_items &keys, const okv_items &values,
                 okv_durability durability) {
  write(durability, [&](Txn *transaction) {
    InTurn next_key(keys), next_value(values);
    std::optional<Putting> putting;
    for (size_t i = 0; i < keys.n; ++i) {
      if (i == 0 || ops[i].space != ops[i - 1].space)
        putting.emplace(transaction, space(ops[i].space));
      const Value key = as_value(next_key.next()), value = as_value(next_value.next());
      ops[i].is_delete != 0 ? putting->erase(key) : putting->put(key, value);
    }
  });
}

void okv::ingest(okv_run *const *runs, size_t n_runs) {
  if (std::all_of(runs, runs + n_runs, [](const okv_run *run) { return run->is_empty(); })) return;
  write(OKV_POWER, [=](Txn *transaction) {
    for (size_t i = 0; i < n_runs; ++i) runs[i]->put(transaction, space(runs[i]->space()));
  });
  ++ingests_;
}

// The map can be moved only while nobody reads in it: look-ups end soon, scans may not.
void okv::grow() {
  const std::unique_lock<std::shared_mutex> no_more_views(map_mutex_);
  const size_t n_bytes = 2 * env_->map_bytes();
  if (n_scans_ > 0 || !cdb::btree::has_addresses(n_bytes))
    throw Failure(CDB_LIMIT, kDataFile, "it is as large as its map, which can't grow",
                  "end all iterations, allow the process more addresses (ulimit -v), and open it"
                  " again");
  while (n_views_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  mapping_.reset();
  is_mapped_ = false;
  env_->grow(n_bytes);
  is_mapped_ = true;
  guard_map();
}

// There are no checksums; the coin set holds its own against all values.
void okv::verify() {
  const std::shared_ptr<Txn> state = view();
  for (const Space space : spaces_) {
    const Cursor cursor = open_cursor(state.get(), space);
    Value key, value;
    std::string before;
    size_t n = 0;
    for (; reach(cursor, cdb::btree::kNext, &key, &value); ++n) {
      const Item item = as_item(key);
      std::string now(reinterpret_cast<const char *>(item.bytes), item.n);
      if (n > 0 && now <= before) throw Failure(CDB_CORRUPT, kDataFile, "its keys are in disorder");
      before = std::move(now);
    }
    if (n != cdb::btree::n_entries(state.get(), space))
      throw Failure(CDB_CORRUPT, kDataFile, "it has not as many entries as it says");
  }
}

okv_scan::okv_scan(okv *kv, const okv_view *view, uint8_t space, const okv_bounds &bounds,
                   bool is_reverse, okv_reuse)
    : kv_(kv),
      first_(reinterpret_cast<const char *>(bounds.first), bounds.first_bytes),
      end_(reinterpret_cast<const char *>(bounds.end), bounds.end_bytes),
      is_reverse_(is_reverse),
      view_(view != nullptr ? cdb::btree::beside(view->transaction()) : kv->lasting_view(&place_)),
      cursor_(open_cursor(view_.get(), kv->space(space))) {}

bool okv_scan::seek(const std::string &key, cdb::btree::To if_empty) {
  if (key.empty()) return move(if_empty);
  key_ = cdb::btree::value_of(key.data(), key.size());
  return move(cdb::btree::kAtOrBehind);
}

// To the first entry, or to the last one.
bool okv_scan::begin() {
  if (!is_reverse_) return seek(first_, cdb::btree::kFirst);
  if (!seek(end_, cdb::btree::kLast)) return move(cdb::btree::kLast);
  return end_.empty() || move(cdb::btree::kPrevious);
}

bool okv_scan::step(Item *key, Item *value) {
  const bool is_first = !std::exchange(is_begun_, true);
  if (!(is_first ? begin() : move(is_reverse_ ? cdb::btree::kPrevious : cdb::btree::kNext)))
    return false;
  *key = as_item(key_);
  *value = as_item(value_);
  const std::string_view bytes(reinterpret_cast<const char *>(key->bytes), key->n);
  return bytes >= first_ && (end_.empty() || bytes < end_);
}

const char *okv_version(void) {
  static const std::string version = cdb::btree::version();
  return version.c_str();
}

#include "face.h"
