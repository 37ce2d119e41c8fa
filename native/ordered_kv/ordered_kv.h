// cdb_ordered_kv.h for C++: handles that free themselves, packed entries that grow, and failures
// that are thrown.
#pragma once

#include "cdb_ordered_kv.h"

#include "common/bytes.h"
#include "common/failure.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cdb::coin_set {

// Whether the coin set puts a checksum behind each value, and verifies it whenever it is read:
// where the engine does not verify what it reads from that file.
#ifdef CDB_UNVERIFIED_FILE
constexpr bool kAddsChecksums = true;
constexpr const char *kUnverifiedFile = CDB_UNVERIFIED_FILE;
#else
constexpr bool kAddsChecksums = false;
constexpr const char *kUnverifiedFile = "";
#endif

// What a memtable may take beside a cache.
constexpr uint64_t memtable_bytes(uint64_t cache_bytes) {
  return std::clamp(cache_bytes / 2, uint64_t{4} << 20, uint64_t{OKV_MOST_MEMTABLE_BYTES});
}

// Bytes that are somebody else's.
struct Span {
  const uint8_t *bytes = nullptr;
  size_t n = 0;

  Span() = default;
  Span(const uint8_t *from, size_t size) : bytes(from), n(size) {}
  template <typename Container>  // of bytes
  Span(const Container &all) : bytes(all.data()), n(all.size()) {}
  Span(std::string_view text)
      : bytes(reinterpret_cast<const uint8_t *>(text.data())), n(text.size()) {}
  bool operator==(const Span &other) const {
    return n == other.n && std::memcmp(bytes, other.bytes, n) == 0;
  }
};

class Items {
 public:
  void add(const Span &item) {
    bytes_.insert(bytes_.end(), item.bytes, item.bytes + item.n);
    ends_.push_back(bytes_.size());
  }
  // Puts bytes behind the last one.
  void extend(const Span &more) {
    bytes_.insert(bytes_.end(), more.bytes, more.bytes + more.n);
    ends_.back() = bytes_.size();
  }
  void reserve(size_t n, size_t item_bytes) {
    bytes_.reserve(n * item_bytes);
    ends_.reserve(n);
  }
  void clear() {
    bytes_.clear();
    ends_.clear();
  }
  size_t n() const { return ends_.size(); }
  size_t n_bytes() const { return bytes_.size(); }
  okv_items view() const { return {ends_.size(), bytes_.data(), ends_.data()}; }

 private:
  Bytes bytes_;
  std::vector<uint64_t> ends_;
};

// Of a space, key and value: the leading bytes of their checksum.
constexpr size_t kChecksumBytes = 4;
using Checksum = std::array<uint8_t, kChecksumBytes>;
Checksum checksum_of(uint8_t space, const Span &key, const Span &value);

inline void add_value(uint8_t space, const Span &key, const Span &value, Items *values) {
  values->add(value);
  if constexpr (kAddsChecksums) values->extend(checksum_of(space, key, value));
}

// Of each key that was sought the nearest entry, or none.
class Nearest {
 public:
  // Calls each(i, key, value) for each entry, i counting the keys.
  template <typename Each>
  void for_each(Each each) const {
    for (size_t i = 0, n = 0; i < found_.size(); ++i) {
      if (found_[i] == 0) continue;
      each(i, item(keys_, key_ends_, n), item(values_, value_ends_, n));
      ++n;
    }
  }

 private:
  friend class Source;

  static Span item(const Bytes &bytes, const std::vector<uint64_t> &ends, size_t i) {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return {bytes.data() + begin, ends[i] - begin};
  }
  okv_page room(size_t n, size_t key_bytes, size_t value_bytes);
  void verify(uint8_t space);

  std::vector<uint8_t> found_;
  Bytes keys_, values_;
  std::vector<uint64_t> key_ends_, value_ends_;
};

// How nearest entries are sought; see okv_seek_many.
struct Seek {
  uint32_t suffix_bytes;
  bool is_before;
  size_t value_bytes;  // that values have as a rule
};

// What is read from: an engine as it is, or as it was at one moment.
class Source {
 public:
  Source(const Source &) = delete;
  Source &operator=(const Source &) = delete;

  okv *get() const { return kv_; }
  okv_view *view() const { return view_; }
  okv_stats stats() const;
  void get_many(uint8_t space, const Items &keys, std::vector<okv_wanted> *wanted,
                okv_reuse reuse) const;
  // Whether the key is there, and its value.
  bool get(uint8_t space, const Span &key, Bytes *value) const;
  // Of sorted keys.
  Nearest seek_many(uint8_t space, const Items &keys, const Seek &how, okv_reuse reuse) const;

 protected:
  Source() = default;
  ~Source() = default;

  okv *kv_ = nullptr;
  okv_view *view_ = nullptr;

 private:
  void get_verified(uint8_t space, const okv_items &keys, okv_wanted *wanted,
                    okv_reuse reuse) const;
  Bytes get_whole(uint8_t space, const Span &key, size_t n_bytes, okv_reuse reuse) const;

  // Of each space: so many bytes have its values that were looked up, at most.
  mutable std::array<std::atomic<size_t>, 256> longest_{};
};

class Engine : public Source {
 public:
  Engine(const std::string &path, const okv_options &options);
  ~Engine();
  // Everything, also when it throws.
  void close();
  void checkpoint();
  void settle();
  void verify() const;
};

// This moment, until it is freed: before the engine is closed.
class Snapshot : public Source {
 public:
  explicit Snapshot(const Source &of);
  ~Snapshot() { okv_view_free(view_); }
};

// What is written in one step; to be put in the order of spaces and keys.
class Batch {
 public:
  void put(uint8_t space, const Span &key, const Span &value) {
    ops_.push_back({space, 0});
    keys_.add(key);
    add_value(space, key, value, &values_);
  }
  void erase(uint8_t space, const Span &key) {
    ops_.push_back({space, 1});
    keys_.add(key);
    values_.add({});
  }
  void commit(const Engine &to, okv_durability durability) const;

 private:
  std::vector<okv_op> ops_;
  Items keys_, values_;
};

// Many entries of one space, to be put in the order of keys.
class Run {
 public:
  Run(const Engine &of, uint8_t space);
  void put(const Span &key, const Span &value) {
    keys_.add(key);
    add_value(space_, key, value, &values_);
    if (keys_.n() >= kPageEntries || values_.n_bytes() >= kPageBytes) write_page();
  }
  void finish();
  static void ingest(const Engine &to, const std::vector<const Run *> &runs);

 private:
  static constexpr size_t kPageEntries = 1024;
  static constexpr size_t kPageBytes = 64u << 10;

  void write_page();

  struct Freer {
    void operator()(okv_run *run) const { okv_run_free(run); }
  };
  const uint8_t space_;
  std::unique_ptr<okv_run, Freer> run_;
  Items keys_, values_;
};

// What puts entries, as layouts give them: put(key, value).
inline auto into(Batch *batch, uint8_t space) {
  return [batch, space](const Span &key, const Span &value) { batch->put(space, key, value); };
}

inline auto into(Run *run) {
  return [run](const Span &key, const Span &value) { run->put(key, value); };
}

// Entries in order, as they were when it began, of which a few are in memory.
class Scan {
 public:
  // page_bytes: of values in memory, unless one entry has more. No end: without one.
  Scan(const Source &of, uint8_t space, const Span &first, const Span &end, bool is_reverse,
       okv_reuse reuse, size_t page_bytes);
  // Reads on until there are `most` entries in memory, more than there are now, or as many as there
  // is room for. False when
  // there are no more.
  bool read(size_t most);
  // The first n of those in memory go.
  void drop(size_t n);
  // Lets go of the engine; what is in memory stays.
  void release() { scan_.reset(); }

  size_t n() const { return page_.n; }
  Span key(size_t i) const { return item(keys_, key_ends_, i); }
  Span value(size_t i) const { return item(values_, value_ends_, i); }

 private:
  static Span item(const Bytes &bytes, const std::vector<uint64_t> &ends, size_t i) {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return {bytes.data() + begin, ends[i] - begin};
  }
  void make_room(size_t most);
  void verify(size_t first);

  struct Freer {
    void operator()(okv_scan *scan) const { okv_scan_free(scan); }
  };
  const uint8_t space_;
  std::unique_ptr<okv_scan, Freer> scan_;
  okv_page page_{};
  Bytes keys_, values_;
  std::vector<uint64_t> key_ends_, value_ends_;
  bool is_damaged_ = false;  // behind those that are in memory
};

}  // namespace cdb::coin_set
