// The acknowledged length of the log, in a second place: what lies before it is damaged when it is
// not intact, what lies behind it may be a torn tail. And the moment at which a rewind takes
// effect: what lies behind that length with an older epoch was rewound.
//
// Two slots of 24 bytes: length (8), epoch (4), sequence number (4), checksum of these (8). Both
// are written each time, in one sector, so that damage to one costs nothing; of slots that differ
// the one with the higher number counts. Written after the log's own sync and not synced itself,
// other than by a rewind: it may lag behind, never lead.
#pragma once

#include "coin_log/format/file.h"

namespace cdb::coin_log {

constexpr const char *kAckedFile = "acked";

class Acked {
 public:
  // Reads what is there.
  Acked(const Directory &directory, bool read_only);

  // 0 unless it was set in this epoch or a later one.
  uint64_t length(uint32_t epoch) const { return epoch_ >= epoch ? length_ : 0; }
  uint32_t epoch() const { return epoch_; }

  bool is_missing() const { return state_ == State::kMissing; }
  // Whether it is missing, or no slot is intact. No crash leaves it so once there is a log.
  bool is_lost() const { return state_ == State::kMissing || state_ == State::kLost; }
  bool is_whole() const { return state_ == State::kWhole; }
  // Whether no rewind has been written to it since it was read, of one that only reads: as its
  // mapping tells, without a system call. False also where that can't be seen.
  bool is_as_read() const;

  // Write it again as it should be, durably, and its name and the log's: what the process before
  // this one did not sync, or could not, is read like anything else, and lost with the power.
  void mend();
  // These only once it is whole.
  void set(uint64_t length, uint32_t epoch);
  void sync() { file_->sync(); }

 private:
  enum class State { kMissing, kLost, kDamaged, kWhole };

  State read(const Bytes &bytes);
  bool read_slot(const uint8_t *slot);

  Directory directory_;
  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;  // of both slots, where one reads who may not write
  State state_ = State::kMissing;
  bool is_durable_ = false;
  uint64_t length_ = 0;
  uint32_t epoch_ = 0, sequence_ = 0;
};

}  // namespace cdb::coin_log
