#include "log.h"

#include "failure.h"
#include "record.h"

#include <algorithm>

namespace coin_log {

namespace {
constexpr uint64_t kSmallestMapping = uint64_t{1} << 26;
constexpr uint64_t kWritebackBytes = uint64_t{1} << 24;
constexpr uint64_t kLargestLog = uint64_t{1} << 44;
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

}  // namespace coin_log
