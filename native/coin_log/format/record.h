// One block in the log.
//
//     offset  bytes  content, little endian
//     0       8      checksum of all that follows, seeded by the record's place (Log::seed)
//     8       4      magic "CLR2"
//     12      4      length of the record, in bytes
//     16      8      checksum of the record before; 0 in the first one
//     24      4      epoch: how many rewinds there had been
//     28      4      block index
//     32      8      timestamp
//     40      8      length of the log that was known to be durable when this was written
//     48      4      first row: how many coins there are in the records before
//     52      4      S, count of spends
//     56      4      E, count of explicit parents that stand whole
//     60      4      R, count of those that are rewards' of kinds that are known
//     64      4      C, count of coins
//     68      1      A, bytes of an amount: 0 … 8
//     69      1      P, bytes of a parent's number: 1 … 4
//     70      1      H, bytes of a reward's age: 0 … 4
//     71      1      zero
//     72      32·S   names of the spent coins, ascending
//             32·E   explicit parents: those that the block does not spend, ascending
//             (1+H)·R      rewards' parents, ascending: number of the kind (reward_kinds.h), age:
//                          the block's index less the height, modulo 2^32
//             (32+A+P)·C   coins in canonical order: puzzle hash, amount, parent's number
//
// A parent's number counts first the spends, then the whole explicit parents, then the rewards'.
// All of it follows from the block and the chain before.
#pragma once

#include "rules/joined.h"
#include "coin_log/format/reward_kinds.h"

namespace cdb::coin_log {

constexpr uint64_t kLogHeadBytes = 24;  // before the first record; see log.h
constexpr size_t kHeaderBytes = 72;
constexpr uint32_t kRecordMagic = 0x32524c43;  // "CLR2"

// Where the parts of a record are.
struct Geometry {
  uint32_t spends, explicit_parents, rewards, coins;
  uint8_t amount_bytes, parent_bytes, age_bytes;

  size_t coin_bytes() const { return kNameBytes + amount_bytes + parent_bytes; }
  size_t reward_bytes() const { return size_t{1} + age_bytes; }
  size_t whole_parents() const { return size_t{spends} + explicit_parents; }
  size_t parents() const { return whole_parents() + rewards; }
  // Of a parent that stands whole, or of a reward's.
  size_t parent_at(size_t number) const {
    return number < whole_parents() ? kHeaderBytes + kNameBytes * number
                                    : rewards_at() + reward_bytes() * (number - whole_parents());
  }
  size_t rewards_at() const { return kHeaderBytes + kNameBytes * whole_parents(); }
  size_t coins_at() const { return rewards_at() + reward_bytes() * rewards; }
  bool is_sound() const {
    return amount_bytes <= 8 && parent_bytes >= 1 && parent_bytes <= 4 && age_bytes <= 4;
  }
  uint64_t length() const { return coins_at() + uint64_t{coins} * coin_bytes(); }
};

// As records and the block table have it: the four counts, and then the three widths.
Geometry read_geometry(const uint8_t *from);
void write_geometry(const Geometry &geometry, uint8_t *to);

struct RecordHeader {
  uint64_t checksum;
  uint32_t magic, length;
  uint64_t previous_checksum;
  uint32_t epoch, block_index;
  uint64_t timestamp, durable_upto;
  uint32_t first_row;
  Geometry geometry;
};

// bytes: at least kHeaderBytes.
RecordHeader read_header(const uint8_t *bytes);

// Whether it may be a header: its lengths fit each other.
bool is_plausible(const RecordHeader &header);

// Whether the header's lengths fit each other and the bytes that are there, and the checksum holds.
bool is_intact(const uint8_t *bytes, uint64_t available, uint64_t seed);

// Append the record of a block. kinds: of the chain before. header: the first row, previous
// checksum, epoch and durable length.
RecordHeader append_record(const Blocks &blocks, size_t block, const Joined &joined,
                           const RewardKinds &kinds, RecordHeader header, uint64_t seed,
                           Bytes *log);

// Append the block of an intact record; false, and nothing is appended, when a parent's number, or
// a kind's, is out of range. kinds: those before it, and perhaps later ones.
bool append_block(const uint8_t *record, const RewardKinds &kinds, OwnedBlocks *blocks);

// Take note of the kinds that an intact record introduces. block: its number.
void introduce_kinds(const uint8_t *record, size_t block, RewardKinds *kinds);

// Make the 32 bytes of a reward's parent from those of the record; false for an unknown kind.
bool compose_reward(const uint8_t *from, const Geometry &geometry, uint32_t block_index,
                    const RewardKinds &kinds, uint8_t *parent);

}  // namespace cdb::coin_log
