#include "log.h"

#include "failure.h"
#include "record.h"

#include <algorithm>

namespace coin_log {

namespace {
constexpr uint64_t kSmallestMapping = uint64_t{1} << 26;
constexpr uint64_t kWritebackBytes = uint64_t{1} << 24;
constexpr uint64_t kLargestLog = uint64_t{1} << 44;
constexpr uint64_t kSmallAppend = uint64_t{1} << 16;
constexpr uint64_t kMostFillBytes = uint64_t{1} << 18;
constexpr uint64_t kFillShare = 8;  // of the log's own length, so that small logs stay small
// One page a write: in larger ones the kernel keeps larger pages, and writes all of such a page back
// for each change in it.
constexpr uint64_t kPageBytes = 4096;
}  // namespace

Log::Log(const Directory &directory, bool read_only)
    : file_(directory, kLogFile, read_only ? Open::kRead : Open::kCreate) {
  if (!read_only) sync_directory(directory, "");
  map_up_to(file_.size());
}

void Log::map_up_to(uint64_t offset) {
  if (mapping_ != nullptr && offset <= mapping_->size()) return;
  uint64_t size = kSmallestMapping;
  while (size < 2 * offset) size *= 2;
  mapping_ = std::make_unique<Mapping>(file_, size, false);
}

// A copy, because another process may write while this one only reads.
bool Log::read_record(uint64_t offset, uint64_t available, Bytes *record) const {
  if (available < kHeaderBytes) return false;
  const uint64_t length = read_header(at(offset)).length;
  if (length > available) return false;
  record->assign(at(offset), at(offset) + length);
  return is_intact(record->data(), length, offset);
}

void Log::append(const Bytes &bytes, size_t n) {
  if (end_ + n > kLargestLog) throw Failure(COIN_LOG_LIMIT, kLogFile, "it has 2^44 bytes");
  file_.write(bytes.data(), n, end_);
  end_ += n;
  map_up_to(end_);
  written_back_ = std::min(written_back_, end_);
  if (end_ - written_back_ < kWritebackBytes) return;
  file_.start_writeback(written_back_, end_ - written_back_);
  written_back_ = end_;
}

void Log::sync() {
  const uint64_t appended = end_ - std::min(synced_, end_);
  if (appended > 0 && appended < kSmallAppend && end_ + appended > filled_) fill_ahead();
  file_.sync();
  synced_ = end_;
}

void Log::fill_ahead() {
  const uint8_t zeros[kPageBytes] = {0};
  const uint64_t fill = std::min(kMostFillBytes, end_ / kFillShare);
  const uint64_t to = (end_ + fill) / kPageBytes * kPageBytes;
  filled_ = std::max(filled_, end_);
  try {
    while (filled_ < to) {
      const uint64_t n = kPageBytes - filled_ % kPageBytes;
      file_.write(zeros, n, filled_);
      filled_ += n;
    }
  } catch (const Failure &) {
    // No room ahead: then appends go on as they can.
  }
}

void Log::erase_tail() {
  file_.erase_from(end_);
  filled_ = end_;
}

}  // namespace coin_log
