#include "index.h"

#include "failure.h"

#include <algorithm>

namespace coin_log {

namespace {

constexpr size_t kGroup = 64;  // names whose memory is fetched at the same time
constexpr size_t kBucketAhead = 24, kEndAhead = 12;
constexpr uint64_t kSmallestRun = 1024;  // smaller ones count as of this size

unsigned size_class(uint64_t entries, size_t merge_runs) {
  unsigned level = 0;
  for (uint64_t size = kSmallestRun; entries > size; size *= merge_runs) ++level;
  return level;
}

}  // namespace

void Index::insert(const std::vector<Placed> &entries) {
  const size_t n = entries.size();
  for (size_t i = 0; i < n; ++i) {
    if (i + kBucketAhead < n) memtable_.prefetch_bucket(entries[i + kBucketAhead].slot);
    if (i + kEndAhead < n) memtable_.prefetch_end(entries[i + kEndAhead].slot);
    memtable_.insert(entries[i].slot, entries[i].row);
  }
}

void Index::find(const uint8_t *names, size_t n, std::vector<Hit> *hits) const {
  Slot slots[kGroup];
  for (size_t done = 0; done < n; done += kGroup) {
    const size_t group = std::min(kGroup, n - done);
    for (size_t i = 0; i < group; ++i) slots[i] = bits_.slot(names + (done + i) * kNameBytes);
    find_group(slots, group, static_cast<uint32_t>(done), hits);
  }
}

void Index::find_group(const Slot *slots, size_t n, uint32_t first_query,
                       std::vector<Hit> *hits) const {
  for (size_t i = 0; i < n; ++i) {
    memtable_.prefetch_bucket(slots[i]);
    for (const auto &run : runs_) run->prefetch_bucket(slots[i]);
  }
  for (size_t i = 0; i < n; ++i) {
    memtable_.prefetch_entries(slots[i]);
    for (const auto &run : runs_) run->prefetch_guess(slots[i]);
  }
  for (size_t i = 0; i < n; ++i) {
    const uint32_t query = first_query + static_cast<uint32_t>(i);
    for (const auto &run : runs_) run->find(slots[i], query, hits);
    memtable_.find(slots[i], query, hits);
  }
}

std::vector<RunName> Index::run_names() const {
  std::vector<RunName> names;
  for (const auto &run : runs_) names.push_back(run->name());
  return names;
}

void Index::open_run(const Directory &directory, const RunName &name) {
  runs_.push_back(std::make_unique<Run>(directory, name, bits_));
}

void Index::seal(const Directory &directory, uint32_t rows, size_t merge_runs,
                 uint64_t *next_number) {
  if (memtable_.size() > 0) {
    RunBuilder builder(directory, (*next_number)++, bits_);
    std::vector<Entry> entries;
    for (const std::vector<Entry> &bucket : memtable_.buckets()) {
      entries = bucket;
      builder.add_bucket(&entries);
    }
    open_run(directory, builder.finish());
    memtable_.clear();
  }
  while (merge_once(directory, rows, merge_runs, next_number)) {}
}

// Runs of one size class become one of the next: each entry is written once a class.
bool Index::merge_once(const Directory &directory, uint32_t rows, size_t merge_runs,
                       uint64_t *next_number) {
  if (runs_.size() < merge_runs) return false;
  const auto first = runs_.end() - static_cast<ptrdiff_t>(merge_runs);
  const unsigned newest_class = size_class(runs_.back()->name().entries, merge_runs);
  uint64_t total = 0;
  for (auto run = first; run != runs_.end(); ++run) {
    if (size_class((*run)->name().entries, merge_runs) > newest_class) return false;
    total += (*run)->name().entries;
  }
  if (total > UINT32_MAX) return false;

  RunBuilder builder(directory, (*next_number)++, bits_);
  std::vector<Entry> entries;
  for (size_t bucket = 0; bucket < bits_.buckets(); ++bucket) {
    entries.clear();
    for (auto run = first; run != runs_.end(); ++run)
      std::copy_if((*run)->begin(bucket), (*run)->end(bucket), std::back_inserter(entries),
                   [rows](Entry entry) { return row_of(entry) < rows; });
    builder.add_bucket(&entries);
  }
  const RunName merged = builder.finish();
  runs_.erase(first, runs_.end());
  open_run(directory, merged);
  return true;
}

}  // namespace coin_log
