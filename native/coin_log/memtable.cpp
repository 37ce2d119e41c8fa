#include "memtable.h"

namespace coin_log {

namespace {
constexpr size_t kLineEntries = 64 / sizeof(Entry);
constexpr size_t kFirstEntries = 16;
}

void Memtable::insert(const Slot &slot, uint32_t row) {
  std::vector<Entry> &bucket = buckets_[slot.bucket];
  if (bucket.capacity() == 0) bucket.reserve(kFirstEntries);
  bucket.push_back(entry_of(slot.key, row));
  ++size_;
  if (bucket.size() > kLongBucket) has_long_bucket_ = true;
}

void Memtable::find(const Slot &slot, uint32_t query, std::vector<Hit> *hits) const {
  for (const Entry entry : buckets_[slot.bucket])
    if (key_of(entry) == slot.key) hits->push_back({query, row_of(entry)});
}

void Memtable::prefetch_entries(const Slot &slot) const {
  const std::vector<Entry> &bucket = buckets_[slot.bucket];
  for (size_t i = 0; i < bucket.size(); i += kLineEntries) prefetch(&bucket[i]);
}

void Memtable::prefetch_end(const Slot &slot) const {
  const std::vector<Entry> &bucket = buckets_[slot.bucket];
  prefetch(bucket.data() + bucket.size());
}

void Memtable::cut(uint32_t first_row) {
  for (std::vector<Entry> &bucket : buckets_)
    while (!bucket.empty() && row_of(bucket.back()) >= first_row) {
      bucket.pop_back();
      --size_;
    }
}

void Memtable::clear() {
  for (std::vector<Entry> &bucket : buckets_) bucket.clear();
  size_ = 0;
  has_long_bucket_ = false;
}

}  // namespace coin_log
