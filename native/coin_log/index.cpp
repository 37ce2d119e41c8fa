#include "index.h"

#include "failure.h"

#include <algorithm>

namespace coin_log {

namespace {

constexpr size_t kGroup = Run::kGroup;  // names whose memory is fetched at the same time
constexpr size_t kAhead = 16;
constexpr uint64_t kSmallestRun = 1024;  // smaller ones count as of this size

unsigned size_class(uint64_t entries, size_t merge_runs) {
  unsigned level = 0;
  for (uint64_t size = kSmallestRun; entries > size; size *= merge_runs) ++level;
  return level;
}

}  // namespace

std::vector<uint32_t> Index::insert(const uint8_t *names, size_t n, uint32_t first_row) {
  std::vector<uint32_t> known;
  memtable_.reserve(n);
  uint64_t ahead[kAhead];
  const auto look_ahead = [&](size_t i) {
    if (i < n) memtable_.prefetch_slot(ahead[i % kAhead] = bits_.of(names + i * kNameBytes));
  };
  for (size_t i = 0; i < kAhead; ++i) look_ahead(i);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = ahead[i % kAhead];
    look_ahead(i + kAhead);
    if (memtable_.insert(bits, first_row + static_cast<uint32_t>(i)))
      known.push_back(static_cast<uint32_t>(i));
  }
  return known;
}

void Index::take_back(const uint8_t *names, size_t n, uint32_t first_row) {
  for (size_t i = 0; i < n; ++i)
    memtable_.take_back(bits_.of(names + i * kNameBytes), first_row + static_cast<uint32_t>(i));
}

void Index::find(const uint8_t *names, size_t n, uint32_t *rows) const {
  uint64_t bits[kGroup];
  for (size_t done = 0; done < n; done += kGroup) {
    const size_t group = std::min(kGroup, n - done);
    for (size_t i = 0; i < group; ++i)
      memtable_.prefetch_slot(bits[i] = bits_.of(names + (done + i) * kNameBytes));
    for (size_t i = 0; i < group; ++i) rows[done + i] = memtable_.find(bits[i]);
    find_group_in_runs(bits, group, rows + done);
  }
}

void Index::find_in_runs(const uint8_t *names, size_t n, uint32_t *rows) const {
  uint64_t bits[kGroup];
  for (size_t done = 0; done < n; done += kGroup) {
    const size_t group = std::min(kGroup, n - done);
    for (size_t i = 0; i < group; ++i) bits[i] = bits_.of(names + (done + i) * kNameBytes);
    std::fill_n(rows + done, group, kNoRow);
    find_group_in_runs(bits, group, rows + done);
  }
}

void Index::find_group_in_runs(const uint64_t *bits, size_t n, uint32_t *rows) const {
  uint64_t wanted[kGroup] = {};
  size_t place[kGroup] = {}, n_wanted = 0;
  for (size_t i = 0; i < n; ++i) {
    if (rows[i] != kNoRow) continue;
    place[n_wanted] = i;
    wanted[n_wanted++] = bits[i];
  }
  for (const auto &run : runs_)
    for (size_t k = 0; k < n_wanted; ++k) run->prefetch_bucket(wanted[k]);
  for (const auto &run : runs_) run->prefetch_guesses(wanted, n_wanted);
  for (size_t k = 0; k < n_wanted; ++k) {
    uint32_t &row = rows[place[k]];
    for (auto run = runs_.rbegin(); row == kNoRow && run != runs_.rend(); ++run)
      row = (*run)->find(wanted[k]);
  }
}

std::vector<uint32_t> Index::find_all(const uint8_t *name) const {
  const uint64_t bits = bits_.of(name);
  std::vector<uint32_t> rows;
  for (const auto &run : runs_) run->find_all(bits, &rows);
  memtable_.find_all(bits, &rows);
  return rows;
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
  if (memtable_.size() > 0) write_memtable(directory, rows, next_number);
  while (merge_once(directory, rows, merge_runs, next_number)) {}
}

void Index::write_memtable(const Directory &directory, uint32_t rows, uint64_t *next_number) {
  RunBuilder builder(directory, (*next_number)++, bits_);
  memtable_.for_each([&](uint64_t bits, uint32_t row) {
    if (row < rows) builder.add(bits_.bucket(bits), entry_of(bits_.key(bits), row));
  });
  open_run(directory, builder.finish());
  memtable_.clear();
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
    std::sort(entries.begin(), entries.end());
    for (const Entry entry : entries) builder.add(bucket, entry);
  }
  const RunName merged = builder.finish();
  runs_.erase(first, runs_.end());
  open_run(directory, merged);
  return true;
}

}  // namespace coin_log
