#include "coin_log/log/log.h"

#include "common/beside.h"
#include "common/checksum.h"
#include "common/fault_points.h"
#include "coin_log/format/failure.h"
#include "coin_log/format/record.h"

#include <algorithm>
#include <random>

namespace cdb::coin_log {

namespace {
constexpr uint64_t kSmallestMapping = uint64_t{1} << 26;
constexpr uint64_t kReadAheadBytes = uint64_t{1} << 23;
constexpr uint64_t kLargestLog = uint64_t{1} << 44;
constexpr uint64_t kSmallAppend = uint64_t{1} << 16;
constexpr uint64_t kMostFillBytes = uint64_t{1} << 18;
constexpr uint64_t kFillShare = 8;  // of the log's own length, so that small logs stay small
// One page a write: in larger ones the kernel keeps larger pages, and writes all of such a page
// back for each change in it.
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kFewBytes = 2 * kPageBytes;
constexpr uint64_t kCopyBytes = uint64_t{1} << 20;
constexpr uint32_t kLogMagic = 0x474f4c43;  // "CLOG"
constexpr uint32_t kLogFormat = 2;
}  // namespace

void make_log(const Directory &directory) {
  std::random_device device;
  Bytes head(kLogHeadBytes);
  store(head.data(), kLogMagic);
  store(head.data() + 4, kLogFormat);
  store(head.data() + 8, uint64_t{device()} << 32 | device());
  const uint64_t sum = checksum(head.data(), 16, 0);
  store(head.data() + 16, sum);
  replace_whole(directory, ".", kLogFile, head);
}

Log::Log(const Directory &directory, bool read_only)
    : directory_(directory),
      file_(directory, kLogFile, read_only ? Open::kRead : Open::kCreate),
      writer_(&file_),
      end_(kLogHeadBytes) {
  if (file_.size() == 0) throw corrupt(kLogFile, "it is empty, and a log never is");
  read_head();
  // Longer than what is appended and filled ahead can be.
  if (file_.size() > kLargestLog + kMostFillBytes)
    throw corrupt(kLogFile, "damaged: it has " + std::to_string(file_.size()) +
                                " bytes, and no log is so long");
  map_up_to(file_.size());
}

void Log::read_head() {
  Bytes head(kLogHeadBytes);
  file_.read(head.data(), std::min(file_.size(), kLogHeadBytes), 0);
  const bool is_whole = load<uint32_t>(head.data()) == kLogMagic &&
                        load<uint64_t>(head.data() + 16) == checksum(head.data(), 16, 0);
  if (!is_whole) throw corrupt(kLogFile, "damaged").at(0);
  const uint32_t format = load<uint32_t>(head.data() + 4);
  if (format != kLogFormat)
    throw Failure(CDB_FOREIGN, kLogFile,
                  "its format is " + std::to_string(format) + ", and this cdb reads " +
                      std::to_string(kLogFormat),
                  "use the cdb that wrote it, or load the replay text again; a node syncs again");
  key_ = load<uint64_t>(head.data() + 8);
}

bool Log::is_itself() const {
  Bytes head(kLogHeadBytes);
  if (file_.size() < end_) return false;
  file_.read(head.data(), head.size(), 0);
  return load<uint64_t>(head.data() + 8) == key_;
}

void Log::map_up_to(uint64_t offset) {
  if (mapping_ != nullptr && offset <= mapping_->size()) return;
  uint64_t size = kSmallestMapping;
  while (size < 2 * offset) size *= 2;
  mapping_ = std::make_unique<Mapping>(file_, size);
}

void Log::read_on(uint64_t offset, uint64_t end, ReadAhead *ahead) const {
  const bool is_near = offset >= ahead->from && offset + kReadAheadBytes / 2 <= ahead->end;
  if (is_near || offset >= end) return;
  const bool goes_on = offset >= ahead->from && offset <= ahead->end;
  const uint64_t from = goes_on ? ahead->end : offset;
  *ahead = {offset, offset + kReadAheadBytes};
  mapping_->read_ahead(from, std::min(ahead->end, end));
}

void Log::announce(uint64_t begin, uint64_t end) const {
  if (end - begin > kFewBytes) mapping_->read_ahead(begin, std::min(end, begin + kReadAheadBytes));
}

// A copy, because another process may write while this one only reads.
bool Log::read_record(uint64_t offset, uint64_t available, Bytes *record, ReadAhead *ahead) const {
  if (available < kHeaderBytes) return false;
  read_on(offset, offset + available, ahead);
  const RecordHeader header = read_header(at(offset));
  if (!is_plausible(header) || header.length > available) return false;
  record->assign(at(offset), at(offset) + header.length);
  return is_intact(record->data(), header.length, seed(offset));
}

void Log::append(Bytes bytes) {
  const uint64_t n = bytes.size();
  if (end_ + n > kLargestLog) throw Failure(CDB_LIMIT, kLogFile, "it has 2^44 bytes");
  // Waking a thread takes longer than a small write.
  if (n < kSmallAppend && writer_.is_idle())
    file_.write(bytes.data(), n, end_);
  else
    writer_.write(std::move(bytes), end_);
}

void Log::extend(uint64_t n) {
  end_ += n;
  map_up_to(end_);
}

void Log::begin_sync() {
  finish_sync();
  syncing_ = beside([this] {
    drain();
    if (!CDB_FAULT("begun-sync-left-out")) file_.sync();
  });
}

void Log::finish_sync() {
  if (syncing_.valid() && !CDB_FAULT("begun-sync-not-awaited")) syncing_.get();
}

void Log::sync() {
  finish_sync();  // the kernel tells an error once
  if (!CDB_FAULT("sync-waits-for-no-writer")) drain();
  const uint64_t appended = end_ - std::min(synced_, end_);
  if (appended > 0 && appended < kSmallAppend && end_ + appended > filled_) fill_ahead();
  if (!CDB_FAULT("log-not-synced")) file_.sync();
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

void Log::write_again(uint64_t begin, uint64_t end) {
  Bytes piece;
  for (uint64_t at = begin; at < end; at += piece.size()) {
    piece.resize(std::min(kCopyBytes, end - at));
    file_.read(piece.data(), piece.size(), at);
    file_.write(piece.data(), piece.size(), at);
  }
}

}  // namespace cdb::coin_log
