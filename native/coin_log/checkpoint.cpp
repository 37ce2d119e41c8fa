// Flushes and checkpoints.
//
// The log alone has to be durable. A checkpoint writes down what was derived from it since the last
// one, so that opening need not replay that: first the run and the history section, then the
// manifest that names them, then what the manifest no longer names is removed. That takes place in
// a thread of its own, from copies and from what does not change meanwhile.
#include "store.h"

#include <algorithm>
#include <chrono>

namespace cdb::coin_log {

namespace {

constexpr size_t kCloseCheckpointDivisor = 16;  // of the memtable's coins: quickly replayed

template <typename T>
bool is_ready(const std::future<T> &future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::vector<RunName> names_of(const Runs &runs) {
  std::vector<RunName> names;
  for (const auto &run : runs) names.push_back(run->name());
  return names;
}

}  // namespace

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
  if (uncovered > options_.memtable_coins / kCloseCheckpointDivisor) start_checkpoint();
  finish_checkpoint();
}

void Store::checkpoint_if_due() {
  if (is_read_only()) return;
  // Rows that were rewound are in the memtable still.
  const bool is_due = rows_ - manifest_.covered_rows >= options_.memtable_coins ||
                      index_.memtable().size() >= size_t{2} * options_.memtable_coins;
  if (is_due)
    start_checkpoint();
  else if (checkpoint_.valid() && is_ready(checkpoint_))
    finish_checkpoint();
}

// The log is synced here and not in the background: an error of a sync is told once, and the one
// who is told must be the one who acknowledges.
//
// From here on the manifest in memory is the one that is being written. Nothing but a rewind would
// write another one, and a rewind waits.
void Store::start_checkpoint() {
  finish_checkpoint();
  verify();
  sync_log();
  Section section = uncovered_section();
  new_spent_rows_.clear();
  cover(blocks_.size());
  manifest_.rewards = parents_.rewards();
  checkpoint_ = std::async(std::launch::async, &Store::write_checkpoint, this, manifest_,
                           std::move(section), std::cref(index_.set_aside()), index_.runs());
}

void Store::finish_checkpoint() {
  if (!checkpoint_.valid()) return;
  const Checkpoint done = checkpoint_.get();
  manifest_ = done.manifest;
  sections_.push_back(done.section);
  index_.adopt(done.runs);
}

Store::Checkpoint Store::write_checkpoint(Manifest manifest, const Section &section,
                                          const Memtable &memtable, const Runs &runs) {
  Sealing sealing(directory_, manifest.bits, runs, static_cast<uint32_t>(manifest.covered_rows),
                  manifest.next_run);
  sealing.add(memtable);
  sealing.merge(options_.merge_runs);
  manifest.runs = names_of(sealing.runs());
  manifest.next_run = sealing.next_number();
  const SectionPlace place =
      write_section(directory_, section, manifest.history_bytes, manifest.history_checksum);
  manifest.history_bytes += place.length;
  manifest.history_checksum = place.checksum;
  write_manifest(directory_, manifest);
  for (const auto &run : sealing.replaced()) remove_file(directory_, run_file(run->name().number));
  return {manifest, sealing.runs(), place};
}

Section Store::uncovered_section() const {
  const auto first = blocks_.begin() + static_cast<ptrdiff_t>(manifest_.covered_blocks);
  const uint32_t first_row = static_cast<uint32_t>(manifest_.covered_rows);
  return {manifest_.covered_blocks,
          {first, blocks_.end()},
          new_spent_rows_,
          early_rows_from(first_row)};
}

// Of the early children.
std::vector<uint32_t> Store::early_rows_from(uint32_t first_row) const {
  const auto &early = parents_.early_children();
  std::vector<uint32_t> rows;
  for (auto child = early.rbegin(); child != early.rend() && child->row >= first_row; ++child)
    rows.push_back(child->row);
  std::reverse(rows.begin(), rows.end());
  return rows;
}

void Store::cover(size_t blocks) {
  manifest_.covered_bytes = offset_of(blocks);
  manifest_.last_record = blocks == 0 ? 0 : blocks_[blocks - 1].offset;
  manifest_.last_checksum = checksum_before(blocks);
  manifest_.covered_blocks = blocks;
  manifest_.covered_rows = first_row_of(blocks);
}

}  // namespace cdb::coin_log
