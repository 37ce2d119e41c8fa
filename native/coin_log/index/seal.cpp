#include "coin_log/index/seal.h"

namespace cdb::coin_log {

namespace {

constexpr uint64_t kSmallestRun = 1024;  // smaller ones count as of this size
// So many buckets are merged at a time, by their number's last bits.
constexpr unsigned kSliceBits = 6;

unsigned size_class(uint64_t entries, size_t merge_runs) {
  unsigned level = 0;
  for (uint64_t size = kSmallestRun; entries > size; size *= merge_runs) ++level;
  return level;
}

// An entry of the run that is made, and above it the last bits of its bucket's number. So they
// ascend within a slice: the buckets that have the other bits in common.
using Item = uint64_t;

// The entries of a run, slice by slice, as items of the one that is made.
class Feed {
 public:
  Feed(const Run &run, const RunShape &shape, uint32_t rows)
      : run_(run), shape_(shape), rows_(rows) {}

  // The items of the next slice; slice_bits: of a slice's number.
  void take(uint64_t slice, unsigned slice_bits, std::vector<Item> *items) {
    const uint64_t end = (slice + 1) << (kRunBits - slice_bits);
    const RunShape &from = run_.shape();
    items->clear();
    for (; bucket_ < from.buckets(); ++bucket_)
      for (; at_ < run_.end(bucket_); ++at_) {
        const Entry entry = run_.entry(at_);
        const uint64_t run_bits = from.run_bits(bucket_, entry);
        if (run_bits >= end) return;
        const uint32_t row = from.row(entry);
        if (row < rows_) items->push_back(shape_.entry_behind(slice_bits, run_bits, row));
      }
  }

 private:
  const Run &run_;
  const RunShape &shape_;
  uint32_t rows_;
  size_t bucket_ = 0, at_ = 0;
};

// Which of two random entries comes first cannot be predicted, so no branch depends on it.
void merge_two(const std::vector<Item> &one, const std::vector<Item> &other,
               std::vector<Item> *merged) {
  const Item *a = one.data(), *const a_end = a + one.size();
  const Item *b = other.data(), *const b_end = b + other.size();
  merged->resize(one.size() + other.size());
  Item *to = merged->data();
  while (a < a_end && b < b_end) {
    const bool is_b = *b < *a;
    *to++ = is_b ? *b : *a;
    a += !is_b;
    b += is_b;
  }
  std::copy(b, b_end, std::copy(a, a_end, to));
}

}  // namespace

bool Sealing::merge_once(size_t merge_runs) {
  if (runs_.size() < merge_runs) return false;
  const auto first = runs_.end() - static_cast<ptrdiff_t>(merge_runs);
  const unsigned newest_class = size_class(runs_.back()->name().entries, merge_runs);
  uint64_t total = 0;
  for (auto run = first; run != runs_.end(); ++run) {
    if (size_class((*run)->name().entries, merge_runs) > newest_class) return false;
    total += (*run)->name().entries;
  }
  if (total > UINT32_MAX) return false;

  const Runs old(first, runs_.end());
  const RunName name = merged(old);
  replaced_.insert(replaced_.end(), old.begin(), old.end());
  runs_.erase(first, runs_.end());
  open(name);
  return true;
}

RunName Sealing::merged(const Runs &runs) {
  uint32_t first_row = kNoRow;
  for (const auto &run : runs) run->check_all();
  for (const auto &run : runs) first_row = std::min(first_row, run->shape().first_row());
  const RunShape shape = shape_from(first_row);
  const unsigned slice_bits = shape.bucket_bits() - std::min(shape.bucket_bits(), kSliceBits);
  std::vector<Feed> feeds;
  for (const auto &run : runs) feeds.emplace_back(*run, shape, rows_);

  RunBuilder builder(directory_, next_number_++, index_, shape);
  std::vector<Item> merged, before, items;
  for (uint64_t slice = 0; slice >> slice_bits == 0; ++slice) {
    merged.clear();
    for (Feed &feed : feeds) {
      feed.take(slice, slice_bits, &items);
      before.swap(merged);
      merge_two(items, before, &merged);
    }
    // An entry comes twice where a record was replayed that a run had covered before a rewind.
    const size_t first_bucket = slice << (shape.bucket_bits() - slice_bits);
    Item last = ~Item{0};
    for (const Item item : merged) {
      if (item != last) builder.add(first_bucket + (item >> kEntryBits), entry_of(item));
      last = item;
    }
  }
  return builder.finish();
}

}  // namespace cdb::coin_log
