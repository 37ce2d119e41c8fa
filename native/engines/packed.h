// What every engine does with the packed entries of cdb_ordered_kv.h.
#pragma once

#include "cdb_ordered_kv.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cdb::engines {

// A key or a value, which is somebody else's.
struct Item {
  const uint8_t *bytes;
  size_t n;
};

// Items, one after the other.
class InTurn {
 public:
  explicit InTurn(const okv_items &items) : items_(items) {}
  Item next() {
    const uint64_t begin = std::exchange(end_, items_.ends[next_++]);
    return {items_.bytes + begin, end_ - begin};
  }

 private:
  const okv_items &items_;
  size_t next_ = 0;
  uint64_t end_ = 0;
};

inline void copy_wanted(const Item &value, okv_wanted *wanted) {
  wanted->length = static_cast<uint32_t>(value.n);
  if (wanted->from >= value.n || wanted->most == 0) return;
  const size_t n = std::min<size_t>(wanted->most, value.n - wanted->from);
  std::memcpy(wanted->to, value.bytes + wanted->from, n);
}

// Whether there was room for the entry.
inline bool add_entry(const Item &key, const Item &value, okv_page *page) {
  const size_t keys_end = page->n == 0 ? 0 : page->key_ends[page->n - 1];
  const size_t values_end = page->n == 0 ? 0 : page->value_ends[page->n - 1];
  if (keys_end + key.n > page->keys_capacity || values_end + value.n > page->values_capacity) {
    page->keys_needed = keys_end + key.n;
    page->values_needed = values_end + value.n;
    return false;
  }
  std::memcpy(page->keys + keys_end, key.bytes, key.n);
  if (value.n > 0) std::memcpy(page->values + values_end, value.bytes, value.n);
  page->key_ends[page->n] = keys_end + key.n;
  page->value_ends[page->n] = values_end + value.n;
  ++page->n;
  return true;
}

}  // namespace cdb::engines
