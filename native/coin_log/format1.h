// The blocks of a database of format 1, in order: for its upgrade alone. Nothing is changed.
//
// The log had no head, and its records had this header, all of whose parents stood whole:
//
//     offset  bytes  content, little endian
//     0       8      checksum of all that follows, seeded with the record's offset in the log
//     8       4      magic "CLR1"
//     12      4      length of the record, in bytes
//     16      8      checksum of the record before; 0 in the first one
//     24      4      epoch
//     28      4      block index
//     32      8      timestamp
//     40      8      first row
//     48      8      length of the log that was known to be durable
//     56      12     counts of spends, explicit parents and coins
//     68      2      version: 1
//     70      2      bytes of an amount, and of a parent's number
//
// `acked` was as it is.
#pragma once

#include "acked.h"
#include "record.h"

namespace cdb::coin_log {

class Format1 {
 public:
  explicit Format1(const Directory &directory);

  // Read on until max_coins blocks, coins and spends are reached; none are left when there is no
  // block. Throws where the log is damaged, or is as a crash has left it.
  void next(uint64_t max_coins);
  const OwnedBlocks &blocks() const { return blocks_; }

 private:
  // Whether there is one more.
  bool read_record();
  bool may_follow(const RecordHeader &header) const;
  void check_end() const;

  File log_;
  uint64_t file_bytes_, acked_bytes_;
  uint32_t epoch_;
  uint64_t offset_ = 0, rows_ = 0, last_checksum_ = 0;
  Bytes record_;
  OwnedBlocks blocks_;
};

}  // namespace cdb::coin_log
