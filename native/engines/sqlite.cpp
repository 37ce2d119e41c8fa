// The functions of cdb_ordered_kv.h over SQLite: a space is a table without row numbers, in a file
// with a write-ahead log.
//
// One connection writes. A view or a look-up has another one, with a transaction; some that are
// done are kept. An opening that only reads has one connection, and one transaction.

#include "common/failure.h"
#include "common/fault_points.h"
#include "common/file_lock.h"
#include "collected.h"

#include <sqlite3.h>
#include <sys/stat.h>

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using cdb::Failure;
using cdb::engines::InTurn;
using cdb::engines::Item;
using cdb::engines::Place;
using cdb::engines::Seeks;

namespace {

constexpr const char *kDataFile = "data.sqlite";
constexpr const char *kLogFile = "data.sqlite-wal";
constexpr off_t kLeastFileBytes = 4096;
constexpr size_t kMostViews = 250;   // at once, of two open files each
constexpr size_t kMostLookUps = 32;  // at once; further ones wait. Their connections are kept,
constexpr size_t kMostLarge = 8;     // of which these have half of all cache, and others the least
constexpr uint64_t kLeastCacheBytes = 64u << 10;
constexpr int kWaitMilliseconds = 1000;

void check(sqlite3 *db, int status) {
  const int kind = status & 0xff;
  if (kind == SQLITE_OK || kind == SQLITE_ROW || kind == SQLITE_DONE) return;
  if (kind == SQLITE_NOMEM) throw std::bad_alloc();
  const int error = sqlite3_system_errno(db);
  const std::string why = sqlite3_errstr(status);
  if (kind == SQLITE_FULL || status == SQLITE_IOERR_SHMSIZE || error == ENOSPC || error == EDQUOT)
    throw Failure(CDB_NO_SPACE, kDataFile, "the disk is full (" + why + ")").because_of(ENOSPC);
  if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
    throw Failure(CDB_LOCKED, kDataFile, "another program has locked it");
  if (kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB || kind == SQLITE_ERROR)
    throw Failure(CDB_CORRUPT, kDataFile, "SQLite found damage: " + why);
  throw Failure(CDB_IO, kDataFile, why).because_of(error);
}

class Statement {
 public:
  Statement(sqlite3 *db, const std::string &sql) : db_(db) {
    check(db, sqlite3_prepare_v3(db, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &own_, nullptr));
  }
  ~Statement() { sqlite3_finalize(own_); }
  Statement(const Statement &) = delete;
  Statement &operator=(const Statement &) = delete;

  // The bytes stay where they are until it is reset.
  void bind(int place, const Item &item) {
    const void *const bytes = item.n == 0 ? "" : static_cast<const void *>(item.bytes);
    check(db_, sqlite3_bind_blob64(own_, place, bytes, item.n, SQLITE_STATIC));
  }
  // Whether there is another row.
  bool step() {
    const int status = sqlite3_step(own_);
    check(db_, status);
    return status == SQLITE_ROW;
  }
  // Both until the next step.
  bool step(Item *key, Item *value) {
    if (!step()) return false;
    *key = column(0);
    *value = column(1);
    return true;
  }
  Item column(int place) const {
    if (sqlite3_column_type(own_, place) != SQLITE_BLOB)
      throw Failure(CDB_CORRUPT, kDataFile, "a row holds what never belongs there");
    const auto *const bytes = static_cast<const uint8_t *>(sqlite3_column_blob(own_, place));
    return {bytes, static_cast<size_t>(sqlite3_column_bytes(own_, place))};
  }
  std::string text(int place) const {
    const unsigned char *const found = sqlite3_column_text(own_, place);
    return found == nullptr ? "" : reinterpret_cast<const char *>(found);
  }
  void reset() { sqlite3_reset(own_); }

 private:
  sqlite3 *const db_;
  sqlite3_stmt *own_ = nullptr;
};

struct Resetter {
  void operator()(Statement *used) const { used->reset(); }
};
using Used = std::unique_ptr<Statement, Resetter>;

class Connection {
 public:
  Connection(const std::string &file, int flags, uint64_t cache_bytes) {
    sqlite3 *opened = nullptr;
    const int status =
        sqlite3_open_v2(file.c_str(), &opened, flags | SQLITE_OPEN_FULLMUTEX, nullptr);
    own_.reset(opened);
    check(opened, status);
    sqlite3_extended_result_codes(opened, 1);
    sqlite3_busy_timeout(opened, kWaitMilliseconds);
    // A close writes nothing, and leaves the log for those who read.
    sqlite3_db_config(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    run("PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA secure_delete=OFF;"
        "PRAGMA mmap_size=0; PRAGMA cache_size=-" +
        std::to_string(cache_bytes >> 10));
  }

  sqlite3 *db() const { return own_.get(); }
  void run(const std::string &sql) {
    check(db(), sqlite3_exec(db(), sql.c_str(), nullptr, nullptr, nullptr));
  }
  // It is prepared once.
  Used use(const std::string &sql) {
    return Used(&statements_.try_emplace(sql, db(), sql).first->second);
  }
  uint64_t n_writes() {
    const Used version = use("PRAGMA user_version");
    return version->step() ? std::stoull(version->text(0)) : 0;
  }

  std::mutex mutex;              // of statements, where many threads read by one connection
  std::unique_ptr<Place> large;  // among those whose caches the options allow for

 private:
  struct Closer {
    void operator()(sqlite3 *db) const { sqlite3_close_v2(db); }
  };
  std::unique_ptr<sqlite3, Closer> own_;
  std::map<std::string, Statement> statements_;
};

// Look-ups that go on at once.
struct Turns {
  std::mutex mutex;
  std::condition_variable ended;
  size_t n_taken = 0;
};

class Turn {
 public:
  explicit Turn(Turns *all) : all_(all) {
    std::unique_lock<std::mutex> lock(all->mutex);
    all->ended.wait(lock, [all] { return all->n_taken < kMostLookUps; });
    ++all->n_taken;
  }
  ~Turn() {
    const std::lock_guard<std::mutex> lock(all_->mutex);
    --all_->n_taken;
    all_->ended.notify_one();
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;

 private:
  Turns *const all_;
};

}  // namespace

struct okv {
 public:
  okv(const char *path, const okv_options &wanted)
      : path_(path),
        file_(path_ + "/" + kDataFile),
        is_read_only_(wanted.read_only != 0),
        is_synced_(wanted.mostly == OKV_POWER),
        cache_bytes_(wanted.cache_bytes) {}

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
  void checkpoint();
  void settle() { checkpoint(); }
  void verify();

  template <typename Body>
  void reading(Body body) {
    body();
  }
  template <typename Body>
  void writing(Body body) {
    if (is_read_only_) throw Failure(CDB_INVALID, "", "it was opened read-only");
    body();
  }

  // A connection with a transaction, which ends with it; one that may last shows this moment.
  std::shared_ptr<Connection> view(const okv_view *given, bool is_lasting = false);
  const std::string &space(uint8_t number) const { return spaces_.at(number); }

 private:
  void open_to_write(const okv_options &wanted);
  void open_spaces(Connection *connection, const okv_options &wanted);
  template <typename Fill>
  void write(okv_durability durability, Fill fill);
  Used putting(uint8_t number) {
    return writer_->use("REPLACE INTO " + space(number) + " VALUES (?1, ?2)");
  }
  void sync_log();

  const std::string path_, file_;
  const bool is_read_only_;
  const bool is_synced_;  // by each commit
  const uint64_t cache_bytes_;
  std::optional<cdb::FileLock> lock_;
  std::vector<std::string> spaces_;
  Turns turns_;
  std::mutex kept_mutex_;
  std::atomic<size_t> n_large_{0};
  std::vector<std::unique_ptr<Connection>> kept_;
  std::unique_ptr<Connection> writer_;
  std::shared_ptr<Connection> opened_;  // of a reader, which sees nothing else
  std::atomic<size_t> n_views_{0};
  std::atomic<uint64_t> ingests_{0};
};

struct okv_run {
  okv_run(okv *, uint8_t number) : space(number) {}
  void add(const okv_items &keys, const okv_items &values) { entries.add(keys, values); }
  void finish() {}

  const uint8_t space;
  cdb::engines::Collected entries;
};

struct okv_view {
  explicit okv_view(okv *kv) : connection(kv->view(nullptr, true)) {}

  const std::shared_ptr<Connection> connection;
};

struct okv_scan {
 public:
  okv_scan(okv *kv, const okv_view *view, uint8_t space, const okv_bounds &bounds, bool is_reverse,
           okv_reuse)
      : kv_(kv),
        first_(bounds.first, bounds.first + bounds.first_bytes),
        end_(bounds.end, bounds.end + bounds.end_bytes),
        connection_(kv->view(view, true)),
        rows_(connection_->db(), "SELECT k, v FROM " + kv->space(space) + " WHERE k >= ?1" +
                                     (end_.empty() ? "" : " AND k < ?2") + " ORDER BY k" +
                                     (is_reverse ? " DESC" : "")) {
    rows_.bind(1, {first_.data(), first_.size()});
    if (!end_.empty()) rows_.bind(2, {end_.data(), end_.size()});
  }
  void next(okv_page *page) {
    paging_.next(page, [this](Item *key, Item *value) { return rows_.step(key, value); });
  }
  okv *kv() const { return kv_; }

 private:
  okv *const kv_;
  const std::vector<uint8_t> first_, end_;
  const std::shared_ptr<Connection> connection_;
  Statement rows_;
  cdb::engines::Paging paging_;
};

void okv::open(const okv_options &wanted) {
  if (!is_read_only_) {
    lock_.emplace(path_, O_RDONLY | O_DIRECTORY, "");
    if (!lock_->try_lock(LOCK_EX))
      throw Failure(CDB_LOCKED, "", "somebody has it open for writing", "close it there first");
  }
  const bool is_new = wanted.create != 0 && !is_read_only_;
  struct stat status;
  if (::stat(file_.c_str(), &status) != 0) {
    if (!is_new) throw Failure(CDB_NOT_FOUND, "", std::string("it has no file ") + kDataFile);
  } else if (!is_new && status.st_size < kLeastFileBytes) {  // SQLite would remove its log
    const bool is_empty = status.st_size == 0;               // as its making leaves it, too
    throw Failure(CDB_CORRUPT, kDataFile, "it is cut",
                  is_empty ? "if nothing was ever loaded, load it again; else restore a copy" : "")
        .at(static_cast<uint64_t>(status.st_size));
  }
  if (!is_read_only_) return open_to_write(wanted);
  opened_ = std::make_shared<Connection>(file_, SQLITE_OPEN_READONLY, cache_bytes_);
  opened_->run("BEGIN");
  open_spaces(opened_.get(), wanted);
}

void okv::open_to_write(const okv_options &wanted) {
  const int create = wanted.create != 0 ? SQLITE_OPEN_CREATE : 0;
  writer_ = std::make_unique<Connection>(file_, SQLITE_OPEN_READWRITE | create, cache_bytes_ / 2);
  // A new file comes into WAL mode by a rollback journal. EXTRA syncs the directory when that goes:
  // a power cut must not leave it beside a log.
  writer_->run("PRAGMA synchronous=EXTRA");
  if (const Used mode = writer_->use("PRAGMA journal_mode=WAL");
      !mode->step() || mode->text(0) != "wal")
    throw Failure(CDB_IO, kDataFile, "this file system has no memory that processes share");
  writer_->run(CDB_FAULT("sqlite-not-synced") ? "PRAGMA synchronous=OFF"
               : is_synced_                   ? "PRAGMA synchronous=FULL"
                                              : "PRAGMA synchronous=NORMAL");
  // A page that many commits change is written once a checkpoint.
  writer_->run("PRAGMA wal_autocheckpoint=16384; BEGIN IMMEDIATE");
  open_spaces(writer_.get(), wanted);
  writer_->run("COMMIT");
  // What is there may be what a process has left that was killed before it could sync it.
  if (!CDB_FAULT("sqlite-opening-not-synced")) checkpoint();
}

// Tables as they were made, and nothing else: whatever else SQLite may do for a file is a program
// of whoever made that.
void okv::open_spaces(Connection *connection, const okv_options &wanted) {
  std::map<std::string, std::string> found;
  for (const Used row = connection->use("SELECT name, sql FROM sqlite_schema"); row->step();)
    found.emplace(row->text(0), row->text(1));
  for (size_t i = 0; i < wanted.n_spaces; ++i) {
    const bool is_late = i >= wanted.n_spaces - wanted.n_late_spaces;
    const std::string name = wanted.spaces[i].name, quoted = '"' + name + '"';
    const std::string sql =
        "CREATE TABLE " + quoted + "(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID";
    const auto table = found.find(name);
    if (table == found.end() && is_late && is_read_only_) break;  // so are those behind it
    if (table == found.end() ? !is_late && wanted.create == 0 : table->second != sql)
      throw Failure(CDB_CORRUPT, kDataFile, name + " is not the table that belongs there");
    if (table == found.end()) connection->run(sql);
    found.erase(name);
    spaces_.push_back(quoted);
  }
  if (!found.empty())
    throw Failure(CDB_CORRUPT, kDataFile, found.begin()->first + " does not belong there");
}

std::shared_ptr<Connection> okv::view(const okv_view *given, bool is_lasting) {
  if (given != nullptr) return given->connection;
  if (opened_ != nullptr) return opened_;
  const auto place = is_lasting ? std::make_shared<Place>(&n_views_, kMostViews) : nullptr;
  const auto turn = is_lasting ? nullptr : std::make_shared<Turn>(&turns_);
  std::unique_ptr<Connection> taken;
  std::unique_ptr<Place> large;
  {
    const std::lock_guard<std::mutex> lock(kept_mutex_);
    if (!kept_.empty())
      taken = std::move(kept_.back()), kept_.pop_back();
    else if (n_large_ < kMostLarge)
      large = std::make_unique<Place>(&n_large_, kMostLarge);
  }
  if (taken == nullptr) {
    // However many threads read at once, their caches are no more than those of a few.
    const uint64_t cache_bytes =
        large == nullptr ? kLeastCacheBytes : cache_bytes_ / 2 / kMostLarge;
    taken = std::make_unique<Connection>(file_, SQLITE_OPEN_READONLY, cache_bytes);
    taken->large = std::move(large);
  }
  taken->use("BEGIN")->step();
  if (is_lasting) taken->n_writes();  // a transaction begins with its first read
  return {taken.release(), [this, place, turn](Connection *ended) {
            std::unique_ptr<Connection> connection(ended);
            if (sqlite3_exec(ended->db(), "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) return;
            const std::lock_guard<std::mutex> lock(kept_mutex_);
            if (connection->large != nullptr)
              kept_.push_back(std::move(connection));  // is taken first
            else if (kept_.size() < kMostLookUps)
              kept_.insert(kept_.begin(), std::move(connection));
          }};
}

okv_stats okv::stats() {
  const std::shared_ptr<Connection> state = view(nullptr);
  const std::lock_guard<std::mutex> lock(state->mutex);
  return {state->n_writes(), ingests_, spaces_.size()};
}

void okv::get_many(const okv_view *given, uint8_t number, const okv_items &keys, okv_wanted *wanted,
                   okv_reuse) {
  const std::shared_ptr<Connection> state = view(given);
  const std::lock_guard<std::mutex> lock(state->mutex);
  const Used rows = state->use("SELECT v FROM " + space(number) + " WHERE k = ?1");
  InTurn key(keys);
  for (size_t i = 0; i < keys.n; ++i) {
    rows->reset();
    rows->bind(1, key.next());
    wanted[i].length = OKV_ABSENT;
    if (rows->step()) cdb::engines::copy_wanted(rows->column(0), &wanted[i]);
  }
}

void okv::seek_many(const okv_view *given, const Seeks &seeks, okv_page *page, uint8_t *found,
                    size_t *done) {
  const std::shared_ptr<Connection> state = view(given);
  const std::lock_guard<std::mutex> lock(state->mutex);
  const Used rows =
      state->use("SELECT k, v FROM " + space(seeks.space) + " WHERE k " +
                 (seeks.is_before ? "<= ?1 ORDER BY k DESC" : ">= ?1 ORDER BY k") + " LIMIT 1");
  const auto nearest = [&](const Item &sought, Item *key, Item *value) {
    rows->reset();
    rows->bind(1, sought);
    return rows->step(key, value);
  };
  cdb::engines::add_nearest(seeks, nearest, page, found, done);
}

template <typename Fill>
void okv::write(okv_durability durability, Fill fill) {
  writer_->run("BEGIN IMMEDIATE");
  try {
    fill();
    writer_->run("PRAGMA user_version=" + std::to_string(writer_->n_writes() + 1) + "; COMMIT");
  } catch (...) {
    sqlite3_exec(writer_->db(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
  if (durability == OKV_POWER && !is_synced_) sync_log();
}

void okv::commit(const okv_op *ops, const okv_items &keys, const okv_items &values,
                 okv_durability durability) {
  write(durability, [&] {
    InTurn key(keys), value(values);
    for (size_t i = 0; i < keys.n; ++i) {
      const bool is_delete = ops[i].is_delete != 0;
      const Used row = is_delete
                           ? writer_->use("DELETE FROM " + space(ops[i].space) + " WHERE k = ?1")
                           : putting(ops[i].space);
      row->bind(1, key.next());
      const Item bytes = value.next();
      if (!is_delete) row->bind(2, bytes);
      row->step();
    }
  });
}

void okv::ingest(okv_run *const *runs, size_t n_runs) {
  if (std::all_of(runs, runs + n_runs, [](auto *run) { return run->entries.is_empty(); })) return;
  write(OKV_POWER, [=] {
    for (size_t i = 0; i < n_runs; ++i) {
      const Used row = putting(runs[i]->space);
      runs[i]->entries.each([&](const okv_items &keys, const okv_items &values) {
        InTurn key(keys), value(values);
        for (size_t n = 0; n < keys.n; ++n, row->reset()) {
          row->bind(1, key.next());
          row->bind(2, value.next());
          row->step();
        }
      });
    }
  });
  ++ingests_;
}

// Where somebody reads an older state the log stays, and is durable by itself.
void okv::checkpoint() {
  sqlite3_busy_timeout(writer_->db(), 0);
  const int status = sqlite3_wal_checkpoint_v2(writer_->db(), nullptr, SQLITE_CHECKPOINT_TRUNCATE,
                                               nullptr, nullptr);
  sqlite3_busy_timeout(writer_->db(), kWaitMilliseconds);
  if (status != SQLITE_BUSY) check(writer_->db(), status);
  sync_log();
  if (::fsync(lock_->descriptor()) != 0)
    throw Failure(CDB_IO, "", "it can't be synced").because_of(errno);
}

// SQLite holds no lock by the log, so it may be closed.
void okv::sync_log() {
  const cdb::FileLock log(path_ + "/" + kLogFile, O_RDONLY, kLogFile);
  if (::fsync(log.descriptor()) != 0)
    throw Failure(CDB_IO, kLogFile, "it can't be synced").because_of(errno);
}

void okv::verify() {
  const std::shared_ptr<Connection> state = view(nullptr);
  const std::lock_guard<std::mutex> lock(state->mutex);
  const Used rows = state->use("PRAGMA integrity_check(1)");
  const std::string told = rows->step() ? rows->text(0) : "";
  if (told != "ok") throw Failure(CDB_CORRUPT, kDataFile, "SQLite found damage: " + told);
}

const char *okv_version(void) {
  static const std::string version = std::string("SQLite ") + sqlite3_libversion();
  return version.c_str();
}

#include "face.h"
