// The acknowledged length of the log, in a second place: what lies before it is damaged when it is
// not intact, what lies behind it may be a torn tail.
//
// Two slots of 24 bytes, written in turn: length (8), epoch (4), sequence number (4), checksum of
// these (8). Written after the log's own sync and not synced itself: it may lag behind, never lead.
#pragma once

#include "file.h"

namespace coin_log {

class Acked {
 public:
  // Reads what is there. Unless read_only, the file is created where it is missing.
  Acked(const Directory &directory, bool read_only);

  // 0 unless it was set in this epoch or a later one.
  uint64_t length(uint32_t epoch) const { return epoch_ >= epoch ? length_ : 0; }
  uint32_t epoch() const { return epoch_; }
  void set(uint64_t length, uint32_t epoch);
  void sync() { file_->sync(); }

 private:
  void read_slot(const uint8_t *slot);

  std::unique_ptr<File> file_;
  uint64_t length_ = 0;
  uint32_t epoch_ = 0, sequence_ = 0;
};

}  // namespace coin_log
