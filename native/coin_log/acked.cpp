#include "acked.h"

#include "checksum.h"

#include <algorithm>

namespace coin_log {

namespace {
constexpr const char *kAckedFile = "acked";
constexpr size_t kSlotBytes = 24;
}  // namespace

Acked::Acked(const Directory &directory, bool read_only) {
  const bool is_there = exists(directory, kAckedFile);
  if (!is_there && read_only) return;
  file_ = std::make_unique<File>(directory, kAckedFile, read_only ? Open::kRead : Open::kCreate);
  if (!is_there) sync_directory(directory, "");
  uint8_t slots[2 * kSlotBytes] = {0};
  file_->read(slots, std::min<size_t>(sizeof slots, file_->size()), 0);
  read_slot(slots);
  read_slot(slots + kSlotBytes);
}

void Acked::read_slot(const uint8_t *slot) {
  const uint32_t sequence = load<uint32_t>(slot + 12);
  if (sequence <= sequence_ || load<uint64_t>(slot + 16) != checksum(slot, 16, 0)) return;
  length_ = load<uint64_t>(slot);
  epoch_ = load<uint32_t>(slot + 8);
  sequence_ = sequence;
}

void Acked::set(uint64_t length, uint32_t epoch) {
  length_ = length;
  epoch_ = epoch;
  ++sequence_;
  uint8_t slot[kSlotBytes];
  store(slot, length);
  store(slot + 8, epoch);
  store(slot + 12, sequence_);
  store(slot + 16, checksum(slot, 16, 0));
  file_->write(slot, kSlotBytes, sequence_ % 2 * kSlotBytes);
}

}  // namespace coin_log
