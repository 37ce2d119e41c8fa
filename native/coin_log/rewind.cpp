// Rewinds: the manifest is lowered durably, and with that the rewind has happened. Zeroing the
// records behind it comes second: opening does it again when a crash was faster.
#include "reader.h"
#include "store.h"

#include <algorithm>

namespace coin_log {

void Store::rewind(int64_t block_index) {
  const size_t kept = blocks_up_to(block_index);
  if (kept == blocks_.size()) return flush();
  const uint64_t offset = offset_of(kept);
  preserve_for_readers(offset);
  lower_manifest(kept, offset);
  log_.set_end(offset);
  log_.erase_tail();
  log_.sync();
  acked_.set(offset, epoch_);
  forget_blocks(kept);
}

void Store::preserve_for_readers(uint64_t offset) {
  for (Reader *reader : readers_) reader->preserve_from(offset);
}

void Store::lower_manifest(size_t blocks, uint64_t offset) {
  last_checksum_ = blocks == 0 ? 0 : read_header(log_.at(blocks_[blocks - 1].offset)).checksum;
  manifest_.epoch = ++epoch_;
  manifest_.rewound_to = offset;
  if (blocks < manifest_.covered_blocks) {
    manifest_.covered_bytes = offset;
    manifest_.last_record = blocks == 0 ? 0 : blocks_[blocks - 1].offset;
    manifest_.last_checksum = last_checksum_;
    manifest_.covered_blocks = blocks;
    manifest_.covered_rows = first_row_of(blocks);
    unspend(blocks);
    new_spent_rows_.clear();
  } else {
    unspend(blocks);
  }
  write_manifest(directory_, manifest_);
}

// Rows that are only in the log since the last checkpoint are at hand; older ones take a look at
// each row.
void Store::unspend(size_t blocks) {
  size_t spends = 0;
  for (size_t block = blocks; block < blocks_.size(); ++block)
    spends += blocks_[block].geometry.spends;
  if (spends <= new_spent_rows_.size()) {
    const auto first = new_spent_rows_.end() - static_cast<ptrdiff_t>(spends);
    std::for_each(first, new_spent_rows_.end(), [this](uint32_t row) { spent_[row] = 0; });
    new_spent_rows_.erase(first, new_spent_rows_.end());
    return;
  }
  const uint32_t first_gone = blocks_[blocks].index;
  for (uint32_t &index : spent_) index = index >= first_gone ? 0 : index;
}

void Store::forget_blocks(size_t blocks) {
  rows_ = first_row_of(blocks);
  blocks_.resize(blocks);
  spent_.resize(rows_);
  block_hints_.resize((size_t{rows_} + 63) / 64);
  index_.cut(rows_);
}

}  // namespace coin_log
