// Reads blocks in order, as they were when it was made: first those of the store, then those that
// were not committed.
#pragma once

#include "block_log.h"
#include "pending.h"

#include <memory>
#include <utility>

namespace cdb::coin_set {

// What reads from the engine for longer than a call.
class Reader {
 public:
  virtual ~Reader() = default;
  // Lets go of the engine; what it gave last stays good.
  virtual void release() = 0;
};

class Cursor : public Reader {
 public:
  Cursor(std::unique_ptr<BlockCursor> committed, std::shared_ptr<const PendingBlocks> pending,
         size_t begin, size_t end)
      : committed_(std::move(committed)), pending_(std::move(pending)), next_(begin), end_(end) {}
  // Whether there is another block, which is good until the next call.
  bool next(cdb_set_block *block);
  void release() override { committed_->release_view(); }

 private:
  std::unique_ptr<BlockCursor> committed_;
  std::shared_ptr<const PendingBlocks> pending_;
  size_t next_, end_;
  Bytes spends_, confirms_;  // of the pending block that was read last
};

}  // namespace cdb::coin_set
