// What engines share that have no runs of their own, that step from entry to entry, and to which
// open views cost something.
#pragma once

#include "common/failure.h"
#include "packed.h"

#include <atomic>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace cdb::engines {

// The entries of a run, in memory.
class Collected {
 public:
  bool is_empty() const { return pages_.empty(); }
  void add(const okv_items &keys, const okv_items &values) {
    if (keys.n > 0) pages_.emplace_back(keys, values);
  }
  // put(keys, values) for those that came together.
  template <typename Put>
  void each(Put put) const {
    for (const auto &[keys, values] : pages_) put(keys.view(), values.view());
  }

 private:
  struct Items {
    explicit Items(const okv_items &from)
        : bytes(from.bytes, from.bytes + from.ends[from.n - 1]),
          ends(from.ends, from.ends + from.n) {}
    okv_items view() const { return {ends.size(), bytes.data(), ends.data()}; }
    std::vector<uint8_t> bytes;
    std::vector<uint64_t> ends;
  };
  std::vector<std::pair<Items, Items>> pages_;
};

// Fills the pages of a scan, whose step(&key, &value) is whether there is another entry. Both stay
// until the next step.
class Paging {
 public:
  // What was read before a failure is given first.
  template <typename Step>
  void next(okv_page *page, Step step) {
    const size_t n_before = page->n;
    page->is_end = 0;
    page->keys_needed = page->values_needed = 0;
    try {
      if (failure_ == nullptr) fill(page, step);
    } catch (...) {
      failure_ = std::current_exception();
    }
    if (failure_ != nullptr && page->n == n_before) std::rethrow_exception(failure_);
  }

 private:
  template <typename Step>
  void fill(okv_page *page, Step step) {
    while (!is_over_ && page->n < page->most) {
      if (is_given_) is_over_ = !step(&key_, &value_);
      if (is_over_) break;
      is_given_ = add_entry(key_, value_, page);
      if (!is_given_) return;
    }
    page->is_end = is_over_ ? 1 : 0;
  }

  Item key_{}, value_{};
  bool is_given_ = true;
  bool is_over_ = false;
  std::exception_ptr failure_;
};

// Of views and scans, which may be open for long: one of those that there can be.
class Place {
 public:
  Place(std::atomic<size_t> *taken, size_t most) : taken_(taken) {
    if (taken_->fetch_add(1) < most) return;
    --*taken_;
    throw Failure(CDB_LIMIT, "", std::to_string(most) + " iterations are open",
                  "end those that are not needed any more");
  }
  ~Place() { --*taken_; }
  Place(const Place &) = delete;
  Place &operator=(const Place &) = delete;

 private:
  std::atomic<size_t> *const taken_;
};

}  // namespace cdb::engines
