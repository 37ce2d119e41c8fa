// Rewinds: `acked` is set back durably, in a new epoch, and with that the rewind has happened: what
// lies behind it in the log is of an older one. The manifest comes second, and zeroing the log
// third: opening does both when a crash was faster.
#include "failure.h"
#include "reader.h"
#include "store.h"

#include <algorithm>

namespace cdb::coin_log {

void Store::rewind(int64_t block_index) {
  settle();
  const size_t kept = blocks_up_to(block_index);
  if (kept == blocks_.size()) return flush();
  cut(kept);
}

void Store::cut(size_t kept) {
  if (epoch_ == UINT32_MAX) throw Failure(COIN_LOG_LIMIT, "", "it was rewound 2^32 - 1 times");
  finish_checkpoint();
  const uint64_t offset = offset_of(kept);
  preserve_for_readers(offset);
  drop(kept);
  if (acked_.length(epoch_) < offset) log_.sync();
  acked_.set(offset, ++epoch_);
  acked_.sync();
  lower_manifest(offset);
  log_.set_end(offset);
  log_.erase_tail();
  log_.sync();
}

// From memory alone.
void Store::drop(size_t kept) {
  last_checksum_ = checksum_before(kept);
  unspend(kept);
  forget_blocks(kept);
}

// One of which the manifest does not know yet. If there were more, it is gone, or one of an earlier
// time: nobody knows what of the log that it covers is still the same.
void Store::take_up_rewind() {
  if (acked_.epoch() <= manifest_.epoch) return;
  const bool is_of_before = acked_.epoch() > manifest_.epoch + 1;
  manifest_.epoch = acked_.epoch();
  manifest_.rewound_to = acked_.length(manifest_.epoch);
  if (is_of_before || manifest_.covered_bytes > manifest_.rewound_to) manifest_.uncover();
  if (is_read_only()) return;
  acked_.set(manifest_.rewound_to, manifest_.epoch);
  acked_.sync();
  write_manifest(directory_, manifest_);
}

void Store::preserve_for_readers(uint64_t offset) {
  for (Reader *reader : readers_) reader->preserve_from(offset);
}

void Store::lower_manifest(uint64_t offset) {
  manifest_.epoch = epoch_;
  manifest_.rewound_to = offset;
  write_manifest(directory_, manifest_);
  erase_behind_sections(directory_, manifest_.history_bytes);
}

// What the blocks from here on have spent is unspent.
void Store::unspend(size_t blocks) {
  while (blocks < manifest_.covered_blocks) uncover_section();
  size_t kept = 0;
  for (size_t block = manifest_.covered_blocks; block < blocks; ++block)
    kept += blocks_[block].geometry.spends;
  const auto first = new_spent_rows_.begin() + static_cast<ptrdiff_t>(kept);
  // Of a block that is taken back an earlier one may spend the same coin, rightly.
  const uint32_t index = blocks_[blocks].index;
  std::for_each(first, new_spent_rows_.end(), [=](uint32_t row) {
    if (spent_[row] >= index) spent_[row] = 0;
  });
  new_spent_rows_.erase(first, new_spent_rows_.end());
}

// The blocks of the last section are as those that came since the checkpoint: once the manifest
// says so, the next section takes its place.
void Store::uncover_section() {
  const SectionPlace place = sections_.back();
  const Section section = read_section(directory_, place);
  new_spent_rows_.insert(new_spent_rows_.begin(), section.spent_rows.begin(),
                         section.spent_rows.end());
  sections_.pop_back();
  manifest_.history_bytes = place.offset;
  manifest_.history_checksum = history_checksum();
  cover(place.first_block);
}

void Store::forget_blocks(size_t blocks) {
  rows_ = first_row_of(blocks);
  blocks_.resize(blocks);
  spent_.resize(rows_);
  block_hints_.resize((size_t{rows_} + 63) / 64);
  parents_.cut(rows_);
  recent_names_.cut(rows_);
  checked_records_.erase(checked_records_.lower_bound(blocks), checked_records_.end());
}

}  // namespace cdb::coin_log
