#include "coin_log/log/acked.h"

#include "common/checksum.h"
#include "common/fault_points.h"

#include <algorithm>
#include <atomic>

namespace cdb::coin_log {

namespace {

constexpr size_t kSlotBytes = 24, kSlots = 2;
constexpr size_t kEpochAt = 8;

}  // namespace

Acked::Acked(const Directory &directory, bool read_only) : directory_(directory) {
  if (!exists(directory, kAckedFile)) return;
  file_ = std::make_unique<File>(directory, kAckedFile, read_only ? Open::kRead : Open::kCreate);
  Bytes bytes(std::min<uint64_t>(kSlots * kSlotBytes, file_->size()));
  file_->read(bytes.data(), bytes.size(), 0);
  state_ = read(bytes);
  if (read_only && is_whole()) mapping_ = std::make_unique<Mapping>(*file_, bytes.size());
}

// A rewind is seen here before anything that it takes is overwritten (Store::cut). A slot may be
// half written, but not its epoch, which is either one.
bool Acked::is_as_read() const {
  if (mapping_ == nullptr) return false;
  std::atomic_thread_fence(std::memory_order_acquire);  // what was read so far was read before
  const auto has_epoch = [this](size_t slot) {
    const void *const at = mapping_->data() + slot * kSlotBytes + kEpochAt;
    return __atomic_load_n(static_cast<const uint32_t *>(at), __ATOMIC_RELAXED) == epoch_;
  };
  return has_epoch(0) && has_epoch(1);
}

Acked::State Acked::read(const Bytes &bytes) {
  Bytes slots = bytes;
  slots.resize(kSlots * kSlotBytes);
  const bool has_first = read_slot(slots.data());
  const bool has_second = read_slot(slots.data() + kSlotBytes);
  if (!has_first && !has_second) return State::kLost;
  const bool is_whole = bytes.size() == slots.size() && has_first && has_second;
  return is_whole ? State::kWhole : State::kDamaged;
}

bool Acked::read_slot(const uint8_t *slot) {
  const uint32_t sequence = load<uint32_t>(slot + 12);
  if (sequence == 0 || load<uint64_t>(slot + 16) != checksum(slot, 16, 0)) return false;
  if (sequence > sequence_) {
    length_ = load<uint64_t>(slot);
    epoch_ = load<uint32_t>(slot + kEpochAt);
    sequence_ = sequence;
  }
  return true;
}

void Acked::mend() {
  if (is_durable_ || CDB_FAULT("found-acked-not-durable")) return;
  if (is_missing()) file_ = std::make_unique<File>(directory_, kAckedFile, Open::kCreate);
  set(length_, epoch_);
  sync();
  sync_directory(directory_, "");
  state_ = State::kWhole;
  is_durable_ = true;
}

void Acked::set(uint64_t length, uint32_t epoch) {
  length_ = length;
  epoch_ = epoch;
  if (sequence_ < UINT32_MAX)
    ++sequence_;  // 0 would be no slot; between equal ones the first counts
  uint8_t slots[kSlots * kSlotBytes];
  store(slots, length);
  store(slots + kEpochAt, epoch);
  store(slots + 12, sequence_);
  store(slots + 16, checksum(slots, 16, 0));
  std::copy(slots, slots + kSlotBytes, slots + kSlotBytes);
  file_->write(slots, sizeof slots, 0);
}

}  // namespace cdb::coin_log
