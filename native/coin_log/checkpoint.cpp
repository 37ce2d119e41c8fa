// Flushes and checkpoints.
//
// The log alone has to be durable. A checkpoint writes down what was derived from it since the last
// one, so that opening need not replay that: first the run and the history section, then the
// manifest that names them, then what the manifest no longer names is removed.
#include "store.h"

#include <algorithm>

namespace coin_log {

namespace {
constexpr size_t kCloseCheckpointDivisor = 16;  // of the memtable's coins: quickly replayed
}

void Store::sync_log() {
  log_.sync();
  if (acked_.length(epoch_) < log_.end()) acked_.set(log_.end(), epoch_);
}

void Store::flush() {
  settle();
  if (options_.power_durable != 0 && acked_.length(epoch_) < log_.end()) sync_log();
}

void Store::close() {
  if (is_read_only()) return;
  verify();
  sync_log();
  acked_.sync();
  const uint64_t uncovered = rows_ - manifest_.covered_rows;
  if (uncovered > options_.memtable_coins / kCloseCheckpointDivisor) checkpoint();
}

void Store::checkpoint_if_due() {
  if (is_read_only()) return;
  // Rows that were rewound are in the memtable still.
  const bool is_due = rows_ - manifest_.covered_rows >= options_.memtable_coins ||
                      index_.memtable().size() >= size_t{2} * options_.memtable_coins;
  if (is_due) checkpoint();
}

void Store::checkpoint() {
  verify();
  sync_log();
  std::vector<RunName> before = index_.run_names();
  index_.seal(directory_, rows_, options_.merge_runs, &manifest_.next_run);
  const auto first = blocks_.begin() + static_cast<ptrdiff_t>(manifest_.covered_blocks);
  const uint32_t first_row = static_cast<uint32_t>(manifest_.covered_rows);
  const Section section = {manifest_.covered_blocks, {first, blocks_.end()}, new_spent_rows_,
                           early_children_.rows_from(first_row)};
  sections_.push_back(write_section(directory_, section, manifest_.history_bytes));
  manifest_.history_bytes += sections_.back().length;
  cover_all();
  write_manifest(directory_, manifest_);
  new_spent_rows_.clear();
  for (const RunName &run : before) {
    const bool is_kept = std::any_of(manifest_.runs.begin(), manifest_.runs.end(),
                                     [&](const RunName &kept) { return kept.number == run.number; });
    if (!is_kept) remove_file(directory_, run_file(run.number));
  }
}

void Store::cover_all() {
  manifest_.covered_bytes = log_.end();
  manifest_.last_record = blocks_.empty() ? 0 : blocks_.back().offset;
  manifest_.last_checksum = last_checksum_;
  manifest_.covered_blocks = blocks_.size();
  manifest_.covered_rows = rows_;
  manifest_.runs = index_.run_names();
  manifest_.rewards = reward_parents_.highest();
}

}  // namespace coin_log
