#include "cursor.h"

namespace cdb::coin_set {

bool Cursor::next(cdb_set_block *block) {
  if (committed_->next(block)) return true;
  if (next_ == end_) return false;
  *block = pending_->at(next_++);
  // Copied, for others are going to be added, and all of them moved.
  spends_.assign(block->spends, block->spends + block->n_spends * kNameBytes);
  confirms_.assign(block->confirms, block->confirms + block->n_confirms * kConfirmBytes);
  block->spends = spends_.data();
  block->confirms = confirms_.data();
  return true;
}

}  // namespace cdb::coin_set
