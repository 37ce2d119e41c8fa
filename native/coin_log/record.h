// One block in the log.
//
//     offset  bytes  content, little endian
//     0       8      checksum of all that follows, seeded with the record's offset in the log
//     8       4      magic "CLR1"
//     12      4      length of the record, in bytes
//     16      8      checksum of the record before; 0 in the first one
//     24      4      epoch: how many rewinds there had been
//     28      4      block index
//     32      8      timestamp
//     40      8      first row: how many coins there are in the records before
//     48      8      length of the log that was known to be durable when this was written
//     56      4      S, count of spends
//     60      4      E, count of explicit parents
//     64      4      C, count of coins
//     68      2      version: 1
//     70      1      A, bytes of an amount: 0 … 8
//     71      1      P, bytes of a parent's number: 1 … 4
//     72      32·S   names of the spent coins, ascending
//             32·E   explicit parents: those that the block does not spend, ascending
//             (32+A+P)·C   coins in canonical order: puzzle hash, amount, parent's number
//
// A parent's number counts first the spends and then the explicit parents. Nothing here depends on
// what the store holds, other than the first row.
#pragma once

#include "common/block_rules.h"

namespace cdb::coin_log {

constexpr size_t kHeaderBytes = 72;
constexpr uint32_t kRecordMagic = 0x31524c43;  // "CLR1"
constexpr uint16_t kRecordVersion = 1;

// Where the parts of a record are.
struct Geometry {
  uint32_t spends, explicit_parents, coins;
  uint8_t amount_bytes, parent_bytes;

  size_t coin_bytes() const { return kNameBytes + amount_bytes + parent_bytes; }
  size_t parents() const { return size_t{spends} + explicit_parents; }
  size_t coins_at() const { return kHeaderBytes + kNameBytes * parents(); }
  bool is_sound() const { return amount_bytes <= 8 && parent_bytes >= 1 && parent_bytes <= 4; }
  uint64_t length() const { return coins_at() + uint64_t{coins} * coin_bytes(); }
};

struct RecordHeader {
  uint64_t checksum;
  uint32_t magic, length;
  uint64_t previous_checksum;
  uint32_t epoch, block_index;
  uint64_t timestamp, first_row, durable_upto;
  Geometry geometry;
  uint16_t version;
};

// bytes: at least kHeaderBytes.
RecordHeader read_header(const uint8_t *bytes);

// Whether it may be a header of this version: its lengths fit each other.
bool is_plausible(const RecordHeader &header);

// Whether the header's lengths fit each other and the bytes that are there, and the checksum holds.
bool is_intact(const uint8_t *bytes, uint64_t available, uint64_t offset);

// Append the record of a block. header: the first row, previous checksum, epoch and durable length.
RecordHeader append_record(const Blocks &blocks, size_t block, const Joined &joined,
                           RecordHeader header, uint64_t offset, Bytes *log);

// Append the block of an intact record; false, and nothing is appended, when a parent's number is
// out of range.
bool append_block(const uint8_t *record, OwnedBlocks *blocks);

}  // namespace cdb::coin_log
