#include "coin_log/index/index.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr size_t kGroup = Run::kGroup;  // names whose memory is fetched at the same time
constexpr size_t kAhead = 16;

// Each thread waits for its own reads.
thread_local ColdReads cold_reads;

}  // namespace

size_t Index::insert(const uint8_t *names, size_t n, uint32_t first_row,
                     std::vector<uint32_t> *known) {
  tables_.reserve(n);
  uint64_t ahead[kAhead];
  const auto look_ahead = [&](size_t i) {
    if (i < n) tables_.memtable.prefetch_slot(ahead[i % kAhead] = bits_.of(names + i * kNameBytes));
  };
  for (size_t i = 0; i < kAhead; ++i) look_ahead(i);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = ahead[i % kAhead];
    look_ahead(i + kAhead);
    const uint32_t there = tables_.memtable.insert(bits, first_row + static_cast<uint32_t>(i));
    if (there == kNoRow) continue;
    known->push_back(static_cast<uint32_t>(i));
    const bool is_of_these = there >= first_row && there - first_row < i;
    if (is_of_these &&
        is_same_name(names + (there - first_row) * kNameBytes, names + i * kNameBytes))
      return i;
  }
  return n;
}

void Index::take_back(const uint8_t *names, size_t n, uint32_t first_row) {
  for (size_t i = 0; i < n; ++i)
    tables_.memtable.take_back(bits_.of(names + i * kNameBytes),
                               first_row + static_cast<uint32_t>(i));
}

void Index::find(const uint8_t *names, size_t n, uint32_t *rows) const {
  uint64_t bits[kGroup], probes = 0;
  for (size_t done = 0; done < n; done += kGroup) {
    const size_t group = std::min(kGroup, n - done);
    for (size_t i = 0; i < group; ++i)
      tables_.memtable.prefetch_slot(bits[i] = bits_.of(names + (done + i) * kNameBytes));
    for (size_t i = 0; i < group; ++i) rows[done + i] = tables_.memtable.find(bits[i], &probes);
    find_group_behind(bits, group, rows + done, &probes);
  }
  finding_probes_ += probes;
}

void Index::find_behind(const uint8_t *names, size_t n, uint32_t *rows) const {
  uint64_t bits[kGroup], probes = 0;
  for (size_t done = 0; done < n; done += kGroup) {
    const size_t group = std::min(kGroup, n - done);
    for (size_t i = 0; i < group; ++i) bits[i] = bits_.of(names + (done + i) * kNameBytes);
    std::fill_n(rows + done, group, kNoRow);
    find_group_behind(bits, group, rows + done, &probes);
  }
  finding_probes_ += probes;
}

void Index::find_group_behind(const uint64_t *bits, size_t n, uint32_t *rows,
                              uint64_t *probes) const {
  find_group_in_sealing(bits, n, rows, probes);
  find_group_in_runs(bits, n, rows, probes);
}

void Index::find_group_in_sealing(const uint64_t *bits, size_t n, uint32_t *rows,
                                  uint64_t *probes) const {
  if (tables_.sealing.size() == 0) return;
  for (size_t i = 0; i < n; ++i)
    if (rows[i] == kNoRow) tables_.sealing.prefetch_slot(bits[i]);
  for (size_t i = 0; i < n; ++i)
    if (rows[i] == kNoRow) rows[i] = tables_.sealing.find(bits[i], probes);
}

void Index::find_group_in_runs(const uint64_t *bits, size_t n, uint32_t *rows,
                               uint64_t *probes) const {
  uint64_t wanted[kGroup] = {};
  size_t place[kGroup] = {}, n_wanted = 0;
  for (size_t i = 0; i < n; ++i) {
    if (rows[i] != kNoRow) continue;
    place[n_wanted] = i;
    wanted[n_wanted++] = bits[i];
  }
  prefetch_in(tables_.runs, wanted, n_wanted, &cold_reads);
  for (size_t k = 0; k < n_wanted; ++k) {
    uint32_t &row = rows[place[k]];
    for (auto run = tables_.runs.rbegin(); row == kNoRow && run != tables_.runs.rend(); ++run)
      row = (*run)->find(wanted[k], probes);
  }
}

std::vector<uint32_t> Index::find_all(const uint8_t *name) const {
  const uint64_t bits = bits_.of(name);
  std::vector<uint32_t> rows;
  uint64_t probes = 0;
  for (const auto &run : tables_.runs) run->find_all(bits, &rows, &probes);
  tables_.sealing.find_all(bits, &rows, &probes);
  tables_.memtable.find_all(bits, &rows, &probes);
  finding_probes_ += probes;
  return rows;
}

}  // namespace cdb::coin_log
