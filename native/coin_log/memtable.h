// The newest index entries, in memory: each bucket is a list in the order of insertion.
#pragma once

#include "name_bits.h"

namespace coin_log {

class Memtable {
 public:
  explicit Memtable(const NameBits &bits) : bits_(bits), buckets_(bits.buckets()) {}

  void insert(const Slot &slot, uint32_t row);
  void find(const Slot &slot, uint32_t query, std::vector<Hit> *hits) const;
  void prefetch_bucket(const Slot &slot) const { prefetch(&buckets_[slot.bucket]); }
  void prefetch_entries(const Slot &slot) const;
  void prefetch_end(const Slot &slot) const;

  // Drop the rows from first_row on; all others must have been inserted before them.
  void cut(uint32_t first_row);
  void clear();

  size_t size() const { return size_; }
  // Whether crafted names have filled one bucket: lookups there take too long.
  bool has_long_bucket() const { return has_long_bucket_; }
  const std::vector<std::vector<Entry>> &buckets() const { return buckets_; }

 private:
  static constexpr size_t kLongBucket = 4096;

  NameBits bits_;
  std::vector<std::vector<Entry>> buckets_;
  size_t size_ = 0;
  bool has_long_bucket_ = false;
};

}  // namespace coin_log
