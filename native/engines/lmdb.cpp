// The functions of cdb_ordered_kv.h over LMDB: a space is a named database of one file.
//
// LMDB's own lock file is for the threads of the one process that writes. Other openings are read
// only: each reads one transaction as long as it lives, and lmdb/reader_pages.h sees to it that it
// can.

#include "cdb_ordered_kv.h"

#include "common/addresses.h"
#include "common/fault_points.h"
#include "common/lost_pages.h"
#include "lmdb/common.h"
#include "lmdb/reader_pages.h"
#include "lmdb/lock_file.h"
#include "lmdb/map.h"
#include "packed.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

using cdb::Failure;
using cdb::engines::add_entry;
using cdb::engines::add_nearest;
using cdb::engines::copy_wanted;
using cdb::engines::InTurn;
using cdb::engines::Item;
using cdb::engines::Seeks;
using cdb::lmdb::begin;
using cdb::lmdb::check;
using cdb::lmdb::Cursor;
using cdb::lmdb::kDataFile;
using cdb::lmdb::open_cursor;
using cdb::lmdb::Transaction;

namespace {

constexpr size_t kMostScans = 1000;     // at once
constexpr unsigned kMostLookUps = 500;  // beside them, so that neither waits for the other
constexpr const char *kUnfinishedFile = "unfinished.mdb";

MDB_val as_value(const Item &item) { return {item.n, const_cast<uint8_t *>(item.bytes)}; }

bool is_same(const Item &a, const Item &b) {
  return a.n == b.n && std::memcmp(a.bytes, b.bytes, a.n) == 0;
}

Item as_item(const MDB_val &value) {
  return {static_cast<const uint8_t *>(value.mv_data), value.mv_size};
}

// Puts entries of one space that ascend.
class Putting {
 public:
  Putting(MDB_txn *transaction, MDB_dbi space) : cursor_(open_cursor(transaction, space)) {}
  // What lies behind all that is there fills pages one after the other.
  void put(MDB_val key, MDB_val value) {
    int status = mdb_cursor_put(cursor_.get(), &key, &value, append_);
    if (status == MDB_KEYEXIST) {
      append_ = 0;
      if (CDB_FAULT("lmdb-entry-between-lost")) return;
      status = mdb_cursor_put(cursor_.get(), &key, &value, 0);
    }
    check(status);
  }
  void put_all(const okv_items &keys, const okv_items &values) {
    InTurn key(keys), value(values);
    for (size_t i = 0; i < keys.n; ++i) put(as_value(key.next()), as_value(value.next()));
  }
  void erase(MDB_val key) {
    const int status = mdb_cursor_get(cursor_.get(), &key, nullptr, MDB_SET);
    if (status != MDB_NOTFOUND) check(status);
    if (status == MDB_SUCCESS) check(mdb_cursor_del(cursor_.get(), 0));
  }

 private:
  const Cursor cursor_;
  unsigned append_ = MDB_APPEND;
};

// Of scans, which may be open for long: one of those that there can be.
class ScanPlace {
 public:
  explicit ScanPlace(std::atomic<size_t> *taken) : taken_(taken) {
    if (taken_->fetch_add(1) < kMostScans) return;
    --*taken_;
    throw Failure(CDB_LIMIT, "", std::to_string(kMostScans) + " iterations are open",
                  "end those that are not needed any more");
  }
  ~ScanPlace() { --*taken_; }
  ScanPlace(const ScanPlace &) = delete;
  ScanPlace &operator=(const ScanPlace &) = delete;

 private:
  std::atomic<size_t> *const taken_;
};

}  // namespace

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
  void checkpoint() { check(mdb_env_sync(env_.get(), 1)); }
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
  std::shared_ptr<MDB_txn> view();
  std::shared_ptr<MDB_txn> view(const okv_view *given);
  // One that may last, with the place that tells a growing map not to wait for its end.
  std::shared_ptr<MDB_txn> lasting_view(std::optional<ScanPlace> *place);
  MDB_dbi space(uint8_t number) const { return spaces_.at(number); }

 private:
  void create(const okv_options &wanted) const;
  void open_to_read(const okv_options &wanted);
  void open_to_write(const okv_options &wanted);
  void open_file(const okv_options &wanted, unsigned flags);
  void open_spaces(MDB_txn *transaction, const okv_options &wanted);
  std::shared_ptr<MDB_txn> newest_transaction() const;
  void check_whole() const;
  void check_kept() const;
  template <typename Fill>
  void write(okv_durability durability, Fill fill);
  void make_durable();
  std::shared_ptr<MDB_txn> begin_view();
  void grow();
  void guard_map();

  const std::string path_;
  const bool is_read_only_;
  const bool is_synced_;  // by each commit
  const std::shared_ptr<cdb::LostPages> lost_pages_ = std::make_shared<cdb::LostPages>();
  std::optional<cdb::FileLock> writer_;
  std::optional<cdb::lmdb::Seen> seen_;
  size_t opened_bytes_ = 0;
  size_t map_bytes_ = 0;  // 0: it is lost
  cdb::lmdb::Environment env_;
  std::optional<cdb::GuardedMapping> mapping_;  // goes first, for the environment unmaps it
  std::optional<cdb::lmdb::ReaderPages> reader_pages_;
  std::shared_ptr<MDB_txn> opened_;  // of a reader, which sees nothing else
  std::vector<MDB_dbi> spaces_;
  std::shared_mutex map_mutex_;
  std::atomic<size_t> n_views_{0}, n_scans_{0};
  std::atomic<uint64_t> ingests_{0};
};

struct okv_run {
 public:
  okv_run(okv *, uint8_t space) : space_(space) {}
  uint8_t space() const { return space_; }
  bool is_empty() const { return pages_.empty(); }
  void add(const okv_items &keys, const okv_items &values);
  void finish() {}
  void put(MDB_txn *transaction, MDB_dbi space) const;

 private:
  struct Items {
    explicit Items(const okv_items &from)
        : bytes(from.bytes, from.bytes + from.ends[from.n - 1]),
          ends(from.ends, from.ends + from.n) {}
    okv_items view() const { return {ends.size(), bytes.data(), ends.data()}; }
    std::vector<uint8_t> bytes;
    std::vector<uint64_t> ends;
  };
  const uint8_t space_;
  std::vector<std::pair<Items, Items>> pages_;
};

struct okv_view {
 public:
  explicit okv_view(okv *kv) : view_(kv->lasting_view(&place_)) {}
  const std::shared_ptr<MDB_txn> &transaction() const { return view_; }

 private:
  std::optional<ScanPlace> place_;
  const std::shared_ptr<MDB_txn> view_;
};

struct okv_scan {
 public:
  okv_scan(okv *kv, const okv_view *view, uint8_t space, const okv_bounds &bounds, bool is_reverse,
           okv_reuse);
  void next(okv_page *page);
  okv *kv() const { return kv_; }

 private:
  void fill(okv_page *page);
  bool step();
  int begin();
  int seek(const std::string &key, MDB_cursor_op if_empty);
  int move(MDB_cursor_op to) { return mdb_cursor_get(cursor_.get(), &key_, &value_, to); }

  okv *const kv_;
  const std::string first_, end_;
  const bool is_reverse_;
  std::optional<ScanPlace> place_;  // unless it is the view's
  const std::shared_ptr<MDB_txn> view_;
  const Cursor cursor_;
  MDB_val key_{}, value_{};  // at which the cursor is
  bool is_begun_ = false;
  bool is_given_ = true;
  bool is_over_ = false;
  std::exception_ptr failure_;
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
  if (is_read_only_)
    open_to_read(wanted);
  else
    open_to_write(wanted);
}

void okv::open_to_read(const okv_options &wanted) {
  seen_.emplace(path_);
  open_file(wanted, MDB_RDONLY | MDB_NOLOCK);
  opened_ = newest_transaction();
  open_spaces(opened_.get(), wanted);
}

void okv::open_to_write(const okv_options &wanted) {
  cdb::lmdb::reserve_lock_file(path_);
  const unsigned not_synced = CDB_FAULT("lmdb-not-synced") ? MDB_NOSYNC : 0;
  open_file(wanted, not_synced | (is_synced_ ? 0 : MDB_NOMETASYNC));
  int n_stale;
  check(mdb_reader_check(env_.get(), &n_stale));
  reader_pages_.emplace(env_, path_);
  if (!CDB_FAULT("lmdb-opening-not-synced")) make_durable();
  Transaction opening = begin(env_, wanted.n_late_spaces > 0 ? 0 : MDB_RDONLY);
  open_spaces(opening.get(), wanted);
  cdb::lmdb::commit(std::move(opening));
}

// In one step: what a crash leaves of it is not there.
void okv::create(const okv_options &wanted) const {
  const std::string unfinished = path_ + "/" + kUnfinishedFile, path = path_ + "/" + kDataFile;
  std::remove(unfinished.c_str());
  cdb::lmdb::Environment made = cdb::lmdb::make_environment(wanted.n_spaces);
  check(mdb_env_open(made.get(), unfinished.c_str(), MDB_NOSUBDIR | MDB_NOLOCK, 0644));
  Transaction making = begin(made, 0);
  for (size_t i = 0; i < wanted.n_spaces; ++i) {
    MDB_dbi space;
    check(mdb_dbi_open(making.get(), wanted.spaces[i].name, MDB_CREATE, &space));
  }
  cdb::lmdb::commit(std::move(making));
  made.reset();
  if (std::rename(unfinished.c_str(), path.c_str()) != 0)
    throw Failure(CDB_IO, kDataFile, "it can't be made").because_of(errno);
}

// What is there may be what a process has left that was killed before it could sync it.
void okv::make_durable() {
  checkpoint();
  if (::fsync(writer_->descriptor()) != 0)
    throw Failure(CDB_IO, "", "it can't be synced").because_of(errno);
}

void okv::open_file(const okv_options &wanted, unsigned flags) {
  env_ = cdb::lmdb::make_environment(wanted.n_spaces);
  check(mdb_env_set_maxreaders(env_.get(), kMostScans + kMostLookUps));
  opened_bytes_ = cdb::lmdb::file_bytes(path_ + "/" + kDataFile);
  if (opened_bytes_ < cdb::lmdb::kLeastFileBytes)  // LMDB would begin a new database in it
    throw Failure(CDB_CORRUPT, kDataFile, "it is cut").at(opened_bytes_);
  map_bytes_ = cdb::lmdb::first_map_bytes(opened_bytes_);
  check(mdb_env_set_mapsize(env_.get(), map_bytes_));
  const int status =
      mdb_env_open(env_.get(), path_.c_str(), flags | MDB_NOTLS | MDB_NORDAHEAD, 0644);
  // LMDB maps more than it was told to, if the file says that it has more pages.
  if (status == ENOMEM && cdb::has_addresses_for(map_bytes_))
    throw Failure(CDB_CORRUPT, kDataFile, "its meta page counts more pages than memory can have");
  check(status);
  MDB_envinfo opened;
  check(mdb_env_info(env_.get(), &opened));
  map_bytes_ = opened.me_mapsize;  // more than was asked for, where the file has more pages
  guard_map();
}

// Where a page can't be read, or is behind the end of a file that was cut.
void okv::guard_map() {
  void *const map = cdb::lmdb::find_map(map_bytes_);
  if (map != nullptr)
    mapping_.emplace(map, map_bytes_, kDataFile, lost_pages_);
  else if (::access("/proc/self/maps", F_OK) == 0)
    throw Failure(CDB_IO, kDataFile, "where it is mapped can't be found").because_of(errno);
}

void okv::open_spaces(MDB_txn *transaction, const okv_options &wanted) {
  for (size_t i = 0; i < wanted.n_spaces; ++i) {
    const bool is_late = i >= wanted.n_spaces - wanted.n_late_spaces;
    MDB_dbi space;
    const int status = mdb_dbi_open(transaction, wanted.spaces[i].name,
                                    is_late && !is_read_only_ ? MDB_CREATE : 0, &space);
    if (status == MDB_NOTFOUND && is_late) break;  // so are those behind it, and nobody asks
    if (status == MDB_NOTFOUND)
      throw Failure(CDB_CORRUPT, kDataFile, std::string("it has no ") + wanted.spaces[i].name);
    check(status);
    unsigned flags = 0;
    check(mdb_dbi_flags(transaction, space, &flags));
    if (flags != 0) throw Failure(CDB_CORRUPT, kDataFile, "it has flags that it never gets");
    spaces_.push_back(space);
  }
}

// Without LMDB's lock: a writer that makes two commits meanwhile writes where this one is read.
std::shared_ptr<MDB_txn> okv::newest_transaction() const {
  for (;;) {
    std::shared_ptr<MDB_txn> transaction = begin(env_, MDB_RDONLY);
    MDB_envinfo info;
    check(mdb_env_info(env_.get(), &info));
    if (info.me_last_txnid <= mdb_txn_id(transaction.get()) + 1) return transaction;
  }
}

// Whether what could not be read was there when it was opened.
void okv::check_whole() const {
  if (lost_pages_->any() && lost_pages_->offset() >= opened_bytes_)
    throw Failure(CDB_CORRUPT, kDataFile, "it is cut").at(opened_bytes_);
}

void okv::check_kept() const {
  if (opened_ != nullptr) seen_->check_kept(mdb_txn_id(opened_.get()));
}

// The making of the database is the first transaction, and nothing that anybody has written.
okv_stats okv::stats() { return {mdb_txn_id(view().get()) - 1, ingests_, spaces_.size()}; }

std::shared_ptr<MDB_txn> okv::view() {
  const std::shared_lock<std::shared_mutex> no_other_map(map_mutex_);
  return begin_view();
}

std::shared_ptr<MDB_txn> okv::lasting_view(std::optional<ScanPlace> *place) {
  const std::shared_lock<std::shared_mutex> no_other_map(map_mutex_);
  place->emplace(&n_scans_);
  return begin_view();
}

// The map must not change meanwhile.
std::shared_ptr<MDB_txn> okv::begin_view() {
  if (opened_ != nullptr) return opened_;
  if (map_bytes_ == 0) throw Failure(CDB_LIMIT, kDataFile, "it can't be mapped", "open it again");
  Transaction state = begin(env_, MDB_RDONLY);
  ++n_views_;
  return {state.release(), [this](MDB_txn *transaction) {
            mdb_txn_abort(transaction);
            --n_views_;
          }};
}

std::shared_ptr<MDB_txn> okv::view(const okv_view *given) {
  return given != nullptr ? given->transaction() : view();
}

void okv::get_many(const okv_view *given, uint8_t number, const okv_items &keys, okv_wanted *wanted,
                   okv_reuse) {
  const std::shared_ptr<MDB_txn> state = view(given);
  const Cursor cursor = open_cursor(state.get(), space(number));
  InTurn next_key(keys);
  for (size_t i = 0; i < keys.n; ++i) {
    MDB_val key = as_value(next_key.next()), value;
    const int status = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET);
    wanted[i].length = OKV_ABSENT;
    if (status == MDB_NOTFOUND) continue;
    check(status);
    copy_wanted(as_item(value), &wanted[i]);
  }
}

void okv::seek_many(const okv_view *given, const Seeks &seeks, okv_page *page, uint8_t *found,
                    size_t *done) {
  const std::shared_ptr<MDB_txn> state = view(given);
  const Cursor cursor = open_cursor(state.get(), space(seeks.space));
  const auto nearest = [&](const Item &sought, Item *found_key, Item *found_value) {
    MDB_val key = as_value(sought), value;
    int status = mdb_cursor_get(cursor.get(), &key, &value, MDB_SET_RANGE);
    const bool is_behind = status == MDB_SUCCESS && !is_same(as_item(key), sought);
    if (seeks.is_before && (is_behind || status == MDB_NOTFOUND))
      status = mdb_cursor_get(cursor.get(), &key, &value, is_behind ? MDB_PREV : MDB_LAST);
    if (status == MDB_NOTFOUND) return false;
    check(status);
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
      Transaction next = begin(env_, 0);
      fill(next.get());
      check_readable(*lost_pages_);
      cdb::lmdb::commit(std::move(next));
      is_written = true;
    } catch (const cdb::lmdb::MapFull &) {
      grow();
    }
  }
  if (durability == OKV_POWER && !is_synced_) checkpoint();
  reader_pages_->renew_if_nobody_reads();
}

void okv::commit(const okv_op *ops, const okv_items &keys, const okv_items &values,
                 okv_durability durability) {
  write(durability, [&](MDB_txn *transaction) {
    InTurn next_key(keys), next_value(values);
    std::optional<Putting> putting;
    for (size_t i = 0; i < keys.n; ++i) {
      if (i == 0 || ops[i].space != ops[i - 1].space)
        putting.emplace(transaction, space(ops[i].space));
      const MDB_val key = as_value(next_key.next()), value = as_value(next_value.next());
      ops[i].is_delete != 0 ? putting->erase(key) : putting->put(key, value);
    }
  });
}

void okv::ingest(okv_run *const *runs, size_t n_runs) {
  if (std::all_of(runs, runs + n_runs, [](const okv_run *run) { return run->is_empty(); })) return;
  write(OKV_POWER, [=](MDB_txn *transaction) {
    for (size_t i = 0; i < n_runs; ++i) runs[i]->put(transaction, space(runs[i]->space()));
  });
  ++ingests_;
}

// The map can be moved only while nobody reads in it: look-ups end soon, scans may not.
void okv::grow() {
  const std::unique_lock<std::shared_mutex> no_more_views(map_mutex_);
  const size_t n_bytes = cdb::lmdb::own_map_bytes(2 * map_bytes_);
  if (n_scans_ > 0 || !cdb::lmdb::has_addresses(n_bytes))
    throw Failure(CDB_LIMIT, kDataFile, "it is as large as its map, which can't grow",
                  "end all iterations, allow the process more addresses (ulimit -v), and open it"
                  " again");
  while (n_views_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  reader_pages_->stop();
  mapping_.reset();
  map_bytes_ = 0;
  check(mdb_env_set_mapsize(env_.get(), n_bytes));
  map_bytes_ = n_bytes;
  guard_map();
  if (!CDB_FAULT("lmdb-keeps-nothing-once-grown")) reader_pages_->begin_again();
}

// LMDB has no checksums; the coin set holds its own against all values.
void okv::verify() {
  const std::shared_ptr<MDB_txn> state = view();
  for (const MDB_dbi space : spaces_) {
    const Cursor cursor = open_cursor(state.get(), space);
    MDB_stat stat;
    check(mdb_stat(state.get(), space, &stat));
    MDB_val key, value;
    std::string before;
    size_t n = 0;
    int status;
    while ((status = mdb_cursor_get(cursor.get(), &key, &value, MDB_NEXT)) == MDB_SUCCESS) {
      std::string now(static_cast<const char *>(key.mv_data), key.mv_size);
      if (n++ > 0 && now <= before)
        throw Failure(CDB_CORRUPT, kDataFile, "its keys are in disorder");
      before = std::move(now);
    }
    if (status != MDB_NOTFOUND) check(status);
    if (n != stat.ms_entries)
      throw Failure(CDB_CORRUPT, kDataFile, "it has not as many entries as it says");
  }
}

void okv_run::add(const okv_items &keys, const okv_items &values) {
  if (keys.n > 0) pages_.emplace_back(keys, values);
}

void okv_run::put(MDB_txn *transaction, MDB_dbi space) const {
  Putting putting(transaction, space);
  for (const auto &[keys, values] : pages_) putting.put_all(keys.view(), values.view());
}

okv_scan::okv_scan(okv *kv, const okv_view *view, uint8_t space, const okv_bounds &bounds,
                   bool is_reverse, okv_reuse)
    : kv_(kv),
      first_(reinterpret_cast<const char *>(bounds.first), bounds.first_bytes),
      end_(reinterpret_cast<const char *>(bounds.end), bounds.end_bytes),
      is_reverse_(is_reverse),
      view_(view != nullptr ? view->transaction() : kv->lasting_view(&place_)),
      cursor_(open_cursor(view_.get(), kv->space(space))) {}

int okv_scan::seek(const std::string &key, MDB_cursor_op if_empty) {
  if (key.empty()) return move(if_empty);
  key_ = {key.size(), const_cast<char *>(key.data())};
  return move(MDB_SET_RANGE);
}

// To the first entry, or to the last one.
int okv_scan::begin() {
  if (!is_reverse_) return seek(first_, MDB_FIRST);
  const int status = seek(end_, MDB_LAST);
  if (status == MDB_NOTFOUND) return move(MDB_LAST);
  return status == MDB_SUCCESS && !end_.empty() ? move(MDB_PREV) : status;
}

// Whether there is another entry, at which the cursor is then.
bool okv_scan::step() {
  const bool is_first = !std::exchange(is_begun_, true);
  const int status = is_first ? begin() : move(is_reverse_ ? MDB_PREV : MDB_NEXT);
  if (status == MDB_NOTFOUND) return false;
  check(status);
  const std::string_view key(static_cast<const char *>(key_.mv_data), key_.mv_size);
  return key >= first_ && (end_.empty() || key < end_);
}

void okv_scan::fill(okv_page *page) {
  while (!is_over_ && page->n < page->most) {
    if (is_given_) is_over_ = !step();
    if (is_over_) break;
    is_given_ = add_entry(as_item(key_), as_item(value_), page);
    if (!is_given_) return;
  }
  page->is_end = is_over_ ? 1 : 0;
}

// What was read before a failure is given first.
void okv_scan::next(okv_page *page) {
  const size_t n_before = page->n;
  page->is_end = 0;
  page->keys_needed = page->values_needed = 0;
  try {
    if (failure_ == nullptr) fill(page);
  } catch (...) {
    failure_ = std::current_exception();
  }
  if (failure_ != nullptr && page->n == n_before) std::rethrow_exception(failure_);
}

const char *okv_version(void) {
  static const std::string version = [] {
    int major, minor, patch;
    mdb_version(&major, &minor, &patch);
    return "LMDB " + std::to_string(major) + "." + std::to_string(minor) + "." +
           std::to_string(patch);
  }();
  return version.c_str();
}

#include "face.h"
