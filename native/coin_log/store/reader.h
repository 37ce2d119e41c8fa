// Reads blocks as they were when it was made.
#pragma once

#include "coin_log/store/readers.h"
#include "coin_log/store/store.h"

namespace cdb::coin_log {

// Some of the log's bytes that it has no more.
struct Preserved {
  uint64_t begin, end;
  std::unique_ptr<File> file;  // without a name: it goes when this does
};

class Reader {
 public:
  // Over the records in a range of bytes of the log.
  Reader(Readers &readers, const State &state, std::pair<uint64_t, uint64_t> range);
  ~Reader();
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;

  // Read on until max_coins blocks, coins and spends are reached; none are left when there is no
  // block. What comes before a block that cannot be read is read first: the next call throws.
  void next(const Store &store, uint64_t max_coins);
  const OwnedBlocks &blocks() const { return blocks_; }
  // Their confirms as coins as of a height: names and infos, which have room for all of them.
  // Returns how many. A row that a rewind has taken, and another block has now, has spends above
  // what that has left.
  size_t states(const State &state, int64_t height, bool only_unspent, uint8_t *names,
                cdb_coin_info *infos) const;

  // The bytes from offset on that the log itself still has, and that are still to be read.
  std::pair<uint64_t, uint64_t> needed_from(uint64_t offset);
  // The log is about to lose them: they are in the copy, or it is null where none are.
  void keep(const std::shared_ptr<const Preserved> &copy, uint64_t offset);
  // Let go of the copies.
  void release();

 private:
  void read_block(const State &state);
  // False if it is not intact.
  bool read_record(const Log &log, uint64_t offset);
  bool is_current(const State &state) const;

  Readers &readers_;
  const RewardKinds kinds_;  // a rewind may take some from the state
  std::mutex mutex_;         // for all that follows; who reads is inside of the state already
  uint64_t offset_, end_;
  uint64_t live_end_;  // the log itself still has the bytes before it
  std::vector<std::shared_ptr<const Preserved>> preserved_;
  ReadAhead ahead_;
  OwnedBlocks blocks_;
  std::vector<uint32_t> first_rows_;  // of the blocks
  Bytes record_;
};

}  // namespace cdb::coin_log
