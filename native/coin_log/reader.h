// Reads blocks as they were when it was made.
#pragma once

#include "store.h"

namespace cdb::coin_log {

class Reader {
 public:
  // Over the records in a range of bytes of the log.
  Reader(Store &store, std::pair<uint64_t, uint64_t> range);
  ~Reader();
  Reader(const Reader &) = delete;
  Reader &operator=(const Reader &) = delete;

  // Read on until max_coins blocks, coins and spends are reached; none are left when there is no
  // block. What comes before a block that cannot be read is read first: the next call throws.
  void next(uint64_t max_coins);
  const OwnedBlocks &blocks() const { return blocks_; }
  const Store &store() const { return store_; }

  // The log is about to lose its bytes from offset on: copy those that are still to be read.
  void preserve_from(uint64_t offset);

 private:
  struct Preserved {
    uint64_t begin, end;
    std::unique_ptr<File> file;  // without a name: it goes when this does
  };

  void read_block();
  // False if it is not intact.
  bool read_record(uint64_t offset);
  bool is_current() const;
  void copy_log(uint64_t begin, uint64_t end, File *file) const;

  Store &store_;
  uint64_t offset_, end_;
  uint64_t live_end_;  // the log itself still has the bytes before it
  std::vector<Preserved> preserved_;
  OwnedBlocks blocks_;
  Bytes record_;
};

}  // namespace cdb::coin_log
