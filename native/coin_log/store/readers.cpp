#include "coin_log/store/readers.h"

#include "coin_log/store/reader.h"
#include "common/fault_points.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {

constexpr const char *kPreservedFile = "derived/preserved";
constexpr uint64_t kCopyBytes = uint64_t{1} << 20;

std::shared_ptr<const Preserved> preserved(const Log &log, uint64_t begin, uint64_t end) {
  auto file = std::make_unique<File>(log.directory(), kPreservedFile, Open::kReplace);
  remove_file(log.directory(), kPreservedFile);
  Bytes piece;
  for (uint64_t at = begin; at < end; at += piece.size()) {
    piece.resize(std::min(kCopyBytes, end - at));
    log.read(piece.data(), piece.size(), at);
    file->write(piece.data(), piece.size(), at - begin);
  }
  return std::make_shared<const Preserved>(Preserved{begin, end, std::move(file)});
}

}  // namespace

void Readers::add(Reader *reader) {
  const std::lock_guard<std::mutex> lock(mutex_);
  readers_.insert(reader);
}

void Readers::remove(Reader *reader) {
  const std::lock_guard<std::mutex> lock(mutex_);
  readers_.erase(reader);
}

// One copy for all of them.
void Readers::preserve_from(const Log &log, uint64_t offset) {
  const std::lock_guard<std::mutex> lock(mutex_);
  uint64_t first = UINT64_MAX, last = 0;
  for (Reader *reader : readers_) {
    const auto [begin, end] = reader->needed_from(offset);
    if (begin >= end) continue;
    first = std::min(first, begin);
    last = std::max(last, end);
  }
  const auto copy = first < last ? preserved(log, first, last) : nullptr;
  if (CDB_FAULT("readers-not-preserved")) return;
  for (Reader *reader : readers_) reader->keep(copy, offset);
}

void Readers::release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Reader *reader : readers_) reader->release();
}

bool Readers::await_verified(std::chrono::milliseconds most) {
  std::unique_lock<std::mutex> lock(verified_mutex_);
  if (!is_writing_) return false;
  ++waiting_;
  verified_.wait_for(
      lock, most, [this, now = verifications_] { return verifications_ != now || !is_writing_; });
  --waiting_;
  return true;
}

void Readers::tell_writing(bool is_writing) {
  {
    const std::lock_guard<std::mutex> lock(verified_mutex_);
    is_writing_ = is_writing;
  }
  if (are_waiting()) verified_.notify_all();
}

void Readers::tell_verified() {
  {
    const std::lock_guard<std::mutex> lock(verified_mutex_);
    ++verifications_;
  }
  verified_.notify_all();
}

}  // namespace cdb::coin_log
