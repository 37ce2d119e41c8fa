// The functions of cdb_ordered_kv.h over sorted vectors in memory, which each commit writes to one
// new file: an engine to learn from, for a few thousand coins.
//
//   toy.kv   the sequence number (8); of each space its number of entries (8), and of each entry
//            the lengths of its key and value (8 each), key and value; and the checksum of it all
//            (8)
//
// The file is read once, by an opening; so no file needs to be kept for readers.

#include "cdb_ordered_kv.h"

#include "common/bytes.h"
#include "common/failure.h"
#include "common/file_lock.h"
#include "packed.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

using cdb::Failure;
using cdb::FileLock;
using cdb::engines::add_entry;
using cdb::engines::add_nearest;
using cdb::engines::copy_wanted;
using cdb::engines::InTurn;
using cdb::engines::Item;
using cdb::engines::Seeks;

namespace {

constexpr const char *kFile = "toy.kv";
constexpr const char *kUnfinishedFile = "unfinished";

using Entry = std::pair<std::string, std::string>;
using Entries = std::vector<Entry>;  // ascending

struct State {
  uint64_t sequence = 0;
  std::vector<Entries> spaces;
};

std::string as_string(const Item &item) {
  return {reinterpret_cast<const char *>(item.bytes), item.n};
}

Item as_item(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

// FNV-1a.
uint64_t checksum_of(const std::string &bytes, size_t n) {
  uint64_t sum = 0xcbf29ce484222325;
  for (size_t i = 0; i < n; ++i) sum = (sum ^ static_cast<uint8_t>(bytes[i])) * 0x100000001b3;
  return sum;
}

void append(uint64_t number, std::string *to) {
  to->append(reinterpret_cast<const char *>(&number), sizeof number);
}

std::string as_file(const State &state) {
  std::string file;
  append(state.sequence, &file);
  append(state.spaces.size(), &file);
  for (const Entries &entries : state.spaces) {
    append(entries.size(), &file);
    for (const auto &[key, value] : entries) {
      append(key.size(), &file);
      append(value.size(), &file);
      file += key;
      file += value;
    }
  }
  append(checksum_of(file, file.size()), &file);
  return file;
}

Failure damage() { return {CDB_CORRUPT, kFile, "it does not match its checksum"}; }

// Takes a file apart, whose checksum holds.
class Reader {
 public:
  explicit Reader(const std::string &file) : file_(file) {}
  uint64_t number() { return cdb::load<uint64_t>(as_item(take(8)).bytes); }
  std::string take(uint64_t n) {
    if (n > file_.size() - at_) throw damage();
    at_ += n;
    return file_.substr(at_ - n, n);
  }

 private:
  const std::string &file_;
  size_t at_ = 0;
};

State from_file(const std::string &file, size_t n_spaces) {
  if (file.size() < 16) throw damage();
  Reader last(file), next(file);
  last.take(file.size() - 8);
  if (last.number() != checksum_of(file, file.size() - 8)) throw damage();
  State state{next.number(), {}};
  for (uint64_t spaces = next.number(); spaces > 0; --spaces) {
    Entries &entries = state.spaces.emplace_back();
    for (uint64_t left = next.number(); left > 0; --left) {
      const uint64_t key_bytes = next.number(), value_bytes = next.number();
      std::string key = next.take(key_bytes);
      entries.emplace_back(std::move(key), next.take(value_bytes));
    }
  }
  state.spaces.resize(std::max(state.spaces.size(), n_spaces));  // the late ones may be missing
  return state;
}

}  // namespace

struct okv_run {
 public:
  okv_run(okv *, uint8_t space) : space_(space) {}
  uint8_t space() const { return space_; }
  const Entries &entries() const { return entries_; }
  void add(const okv_items &keys, const okv_items &values) {
    InTurn key(keys), value(values);
    for (size_t i = 0; i < keys.n; ++i)
      entries_.emplace_back(as_string(key.next()), as_string(value.next()));
  }
  void finish() {}

 private:
  const uint8_t space_;
  Entries entries_;
};

struct okv {
 public:
  okv(const char *path, const okv_options &wanted)
      : path_(path), is_read_only_(wanted.read_only != 0) {}

  void open(const okv_options &wanted) {
    if (!is_read_only_) {
      lock_.emplace(path_, O_RDONLY | O_DIRECTORY, "");
      if (!lock_->try_lock(LOCK_EX))
        throw Failure(CDB_LOCKED, "", "somebody has it open for writing");
    }
    std::ifstream file(path_ + "/" + kFile, std::ios::binary);
    State state{0, std::vector<Entries>(wanted.n_spaces)};
    if (file)
      state = from_file({std::istreambuf_iterator<char>(file), {}}, wanted.n_spaces);
    else if (errno != ENOENT)
      throw Failure(CDB_IO, kFile, "it can't be opened").because_of(errno);
    else if (wanted.create == 0)
      throw Failure(CDB_NOT_FOUND, kFile, "it is missing");
    state_ = std::make_shared<State>(std::move(state));
    if (!is_read_only_) write(*state_);  // for who was killed may not have synced it
  }
  void close() {}
  okv_stats stats() const { return {state()->sequence, ingests_, state()->spaces.size()}; }

  void commit(const okv_op *ops, const okv_items &keys, const okv_items &values, okv_durability) {
    InTurn key(keys), value(values);
    State next = *state();
    for (size_t i = 0; i < keys.n; ++i) {
      const std::string name = as_string(key.next()), text = as_string(value.next());
      Entries &entries = next.spaces.at(ops[i].space);
      const auto at = std::lower_bound(entries.begin(), entries.end(), Entry(name, ""));
      const bool is_there = at != entries.end() && at->first == name;
      if (ops[i].is_delete == 0)
        is_there ? void(at->second = text) : void(entries.insert(at, {name, text}));
      else if (is_there)
        entries.erase(at);
    }
    replace(std::move(next));
  }

  void ingest(okv_run *const *runs, size_t n_runs) {
    State next = *state();
    for (size_t i = 0; i < n_runs; ++i) {
      Entries &old = next.spaces.at(runs[i]->space());
      std::map<std::string, std::string> merged(runs[i]->entries().begin(),
                                                runs[i]->entries().end());
      merged.insert(old.begin(), old.end());  // none that is there already
      old.assign(merged.begin(), merged.end());
    }
    replace(std::move(next));
    ++ingests_;
  }

  void get_many(const okv_view *view, uint8_t space, const okv_items &keys, okv_wanted *wanted,
                okv_reuse) const {
    const std::shared_ptr<const State> now = state(view);
    const Entries &entries = now->spaces.at(space);
    InTurn key(keys);
    for (size_t i = 0; i < keys.n; ++i) {
      const std::string name = as_string(key.next());
      const auto at = std::lower_bound(entries.begin(), entries.end(), Entry(name, ""));
      wanted[i].length = OKV_ABSENT;
      if (at != entries.end() && at->first == name) copy_wanted(as_item(at->second), &wanted[i]);
    }
  }

  void seek_many(const okv_view *view, const Seeks &seeks, okv_page *page, uint8_t *found,
                 size_t *done) const {
    const std::shared_ptr<const State> now = state(view);
    const Entries &entries = now->spaces.at(seeks.space);
    const auto nearest = [&](const Item &sought, Item *key, Item *value) {
      const std::string name = as_string(sought);
      auto at = std::lower_bound(entries.begin(), entries.end(), Entry(name, ""));
      if (seeks.is_before && (at == entries.end() || at->first != name)) {
        if (at == entries.begin()) return false;
        --at;
      }
      if (at == entries.end()) return false;
      *key = as_item(at->first);
      *value = as_item(at->second);
      return true;
    };
    add_nearest(seeks, nearest, page, found, done);
  }

  // There is nothing to do: each commit is durable, and in order.
  void checkpoint() {}
  void settle() {}
  void verify() const {
    std::ifstream file(path_ + "/" + kFile, std::ios::binary);
    from_file({std::istreambuf_iterator<char>(file), {}}, state()->spaces.size());
  }

  template <typename Body>
  void reading(Body body) {
    body();
  }
  template <typename Body>
  void writing(Body body) {
    if (is_read_only_) throw Failure(CDB_INVALID, "", "it was opened read-only");
    body();
  }

  std::shared_ptr<const State> state() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return state_;
  }
  std::shared_ptr<const State> state(const okv_view *view) const;

 private:
  void replace(State next) {
    ++next.sequence;
    write(next);
    const std::lock_guard<std::mutex> guard(mutex_);
    state_ = std::make_shared<State>(std::move(next));
  }

  // The contents before the name, and the name before anybody is told.
  void write(const State &state) const {
    const std::string unfinished = path_ + "/" + kUnfinishedFile, file = as_file(state);
    std::remove(unfinished.c_str());
    const FileLock to(unfinished, O_WRONLY | O_CREAT | O_EXCL, kUnfinishedFile);
    for (size_t done = 0; done < file.size();) {
      const ssize_t n = ::write(to.descriptor(), file.data() + done, file.size() - done);
      if (n < 0) throw failure("it can't be written");
      done += static_cast<size_t>(n);
    }
    if (::fsync(to.descriptor()) != 0) throw failure("it can't be synced");
    if (std::rename(unfinished.c_str(), (path_ + "/" + kFile).c_str()) != 0)
      throw failure("it can't be named");
    if (::fsync(lock_->descriptor()) != 0) throw failure("its name can't be synced");
  }
  static Failure failure(const char *what) {
    return Failure(errno == ENOSPC ? CDB_NO_SPACE : CDB_IO, kFile, what).because_of(errno);
  }

  const std::string path_;
  const bool is_read_only_;
  std::optional<FileLock> lock_;
  mutable std::mutex mutex_;
  std::shared_ptr<const State> state_;
  uint64_t ingests_ = 0;
};

struct okv_view {
 public:
  explicit okv_view(const okv *kv) : state_(kv->state()) {}
  std::shared_ptr<const State> state() const { return state_; }

 private:
  const std::shared_ptr<const State> state_;
};

std::shared_ptr<const State> okv::state(const okv_view *view) const {
  return view == nullptr ? state() : view->state();
}

// Over the state of the moment in which it began.
struct okv_scan {
 public:
  okv_scan(okv *kv, const okv_view *view, uint8_t space, const okv_bounds &bounds, bool is_reverse,
           okv_reuse)
      : kv_(kv), state_(kv->state(view)), is_reverse_(is_reverse) {
    const Entries &entries = state_->spaces.at(space);
    const auto at = [&entries](const uint8_t *key, size_t n) {
      return std::lower_bound(entries.begin(), entries.end(), Entry(as_string({key, n}), ""));
    };
    begin_ = at(bounds.first, bounds.first_bytes);
    end_ = bounds.end_bytes == 0 ? entries.end() : at(bounds.end, bounds.end_bytes);
  }

  void next(okv_page *page) {
    page->keys_needed = page->values_needed = 0;
    while (begin_ < end_ && page->n < page->most) {
      const Entry &entry = is_reverse_ ? *(end_ - 1) : *begin_;
      if (!add_entry(as_item(entry.first), as_item(entry.second), page)) break;
      is_reverse_ ? --end_ : ++begin_;
    }
    page->is_end = begin_ < end_ ? 0 : 1;
  }
  okv *kv() const { return kv_; }

 private:
  okv *const kv_;
  const std::shared_ptr<const State> state_;
  const bool is_reverse_;
  Entries::const_iterator begin_, end_;
};

const char *okv_version(void) { return "toy 1"; }

#include "face.h"
