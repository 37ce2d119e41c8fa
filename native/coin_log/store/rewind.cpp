// Rewinds: `acked` is set back durably, in a new epoch, and with that the rewind has happened: what
// lies behind it in the log is of an older one. The manifest comes second, and zeroing the log
// third: opening does both when a crash was faster.
#include "coin_log/store/store.h"

#include "common/fault_points.h"

namespace cdb::coin_log {

void Store::rewind(int64_t block_index) {
  verify();
  state_.log.drain();
  const size_t kept = state_.blocks_up_to(block_index);
  if (kept == state_.blocks.size()) return flush();
  cut(kept);
}

void Store::cut(size_t kept) {
  state_.log.finish_sync();
  flushing_ = 0;  // this makes durable what is kept
  if (epoch_ == UINT32_MAX) throw Failure(CDB_LIMIT, "", "it was rewound 2^32 - 1 times");
  checkpoints_.finish(state_, access_);
  const LastRewind rewind = {epoch_ + 1, state_.offset_of(kept)};
  readers_.preserve_from(state_.log, rewind.offset);
  // Before the log's end goes back, behind which a sync writes zeros: other processes read those
  // records until the manifest tells them of the rewind.
  if (acked_.length(epoch_) < rewind.offset) state_.log.sync();
  drop(kept, rewind);
  epoch_ = rewind.epoch;
  if (!CDB_FAULT("rewind-not-told-to-acked")) acked_.set(rewind.offset, epoch_);
  acked_.sync();
  checkpoints_.note_rewind(rewind);
  state_.log.erase_tail();
  state_.log.sync();
}

// From memory alone. What the blocks from here on have spent is unspent.
void Store::drop(size_t kept, const LastRewind &rewind) {
  const std::vector<uint32_t> spent_rows = checkpoints_.take_spent_rows(state_, kept);
  std::shared_ptr<const Base> base;
  if (kept < state_.blocks.based()) base = checkpoints_.cut_base(state_, kept, validation_.parents);
  const Change change(access_);
  readers_.preserve_from(state_.log, rewind.offset);  // those that began meanwhile
  // Of a block that is taken back an earlier one may spend the same coin, rightly.
  const uint32_t index = state_.blocks[kept].index;
  for (const uint32_t row : spent_rows)
    if (state_.spent[row] >= index) state_.spent.set(row, 0);
  state_.cut(kept, std::move(base), checkpoints_.new_spent_rows());
  state_.last_rewind = rewind;
  validation_.parents.cut(state_.row_count);
  validation_.recent_names.cut(state_.row_count);
  validation_.unverified.clear();
  validation_.begun.clear();
}

}  // namespace cdb::coin_log
