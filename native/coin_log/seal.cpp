#include "seal.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr uint64_t kSmallestRun = 1024;  // smaller ones count as of this size

unsigned size_class(uint64_t entries, size_t merge_runs) {
  unsigned level = 0;
  for (uint64_t size = kSmallestRun; entries > size; size *= merge_runs) ++level;
  return level;
}

// Which of two random entries comes first cannot be predicted, so no branch depends on it.
void merge_two(const Entry *a, const Entry *a_end, const std::vector<Entry> &other,
               std::vector<Entry> *merged) {
  const Entry *b = other.data(), *const b_end = b + other.size();
  merged->resize(static_cast<size_t>(a_end - a) + other.size());
  Entry *to = merged->data();
  while (a < a_end && b < b_end) {
    const bool is_b = *b < *a;
    *to++ = is_b ? *b : *a;
    a += !is_b;
    b += is_b;
  }
  std::copy(b, b_end, std::copy(a, a_end, to));
}

}  // namespace

void Sealing::add(const Memtable &memtable) {
  if (memtable.size() == 0) return;
  RunBuilder builder(directory_, next_number_++, bits_);
  memtable.for_each([&](uint64_t bits, uint32_t row) {
    if (row < rows_) builder.add(bits_.bucket(bits), entry_of(bits_.key(bits), row));
  });
  open(builder.finish());
}

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

  RunBuilder builder(directory_, next_number_++, bits_);
  std::vector<Entry> merged, before;
  for (size_t bucket = 0; bucket < bits_.buckets(); ++bucket) {
    merged.clear();
    for (auto run = first; run != runs_.end(); ++run) {
      before.swap(merged);
      merge_two((*run)->begin(bucket), (*run)->end(bucket), before, &merged);
    }
    // An entry comes twice where a record was replayed that a run had covered before a rewind.
    Entry last = entry_of(UINT32_MAX, kNoRow);
    for (const Entry entry : merged) {
      if (row_of(entry) < rows_ && entry != last) builder.add(bucket, entry);
      last = entry;
    }
  }
  const RunName name = builder.finish();
  replaced_.insert(replaced_.end(), first, runs_.end());
  runs_.erase(first, runs_.end());
  open(name);
  return true;
}

}  // namespace cdb::coin_log
