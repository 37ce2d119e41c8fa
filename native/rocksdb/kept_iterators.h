// The option `session_reuse`: an iterator of each space stays for who comes next, as long as nothing
// was written since. Making one looks at every run, which is most of a look-up of one name.
#pragma once

#include <rocksdb/iterator.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

class KeptIterators {
 public:
  using Iterator = std::unique_ptr<rocksdb::Iterator>;
  // at: the number of the newest write. Null: there is none.
  Iterator take(uint8_t space, uint64_t at) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (at != at_) clear_to(at);
    if (space >= kept_.size()) return nullptr;
    return std::move(kept_[space]);
  }
  void give(uint8_t space, uint64_t at, Iterator iterator) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (at != at_) return;
    if (space >= kept_.size()) kept_.resize(space + size_t{1});
    kept_[space] = std::move(iterator);
  }
  // Must come before the database goes.
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    kept_.clear();
  }

 private:
  void clear_to(uint64_t at) {
    kept_.clear();
    at_ = at;
  }

  std::mutex mutex_;
  uint64_t at_ = UINT64_MAX;
  std::vector<Iterator> kept_;
};
