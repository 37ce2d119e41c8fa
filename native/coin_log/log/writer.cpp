#include "coin_log/log/writer.h"

#include "common/beside.h"
#include "common/fault_points.h"

#include <algorithm>

namespace cdb::coin_log {

namespace {
constexpr uint64_t kWritebackBytes = uint64_t{1} << 24;
}

Writer::~Writer() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Writer::throw_failure() const {
  if (failure_) std::rethrow_exception(failure_);
}

void Writer::write(Bytes bytes, uint64_t offset) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!thread_.joinable()) thread_ = thread_if_any([this] { run(); });
  changed_.wait(lock, [this] { return pieces_.size() < kMostPieces || failure_; });
  throw_failure();
  pieces_.push_back({std::move(bytes), offset});
  under_way_.fetch_add(1, std::memory_order_relaxed);
  if (!thread_.joinable()) return write_first(&lock);
  changed_.notify_all();
}

void Writer::drain() const {
  if (is_idle()) return;
  std::unique_lock<std::mutex> lock(mutex_);
  const size_t left = CDB_FAULT("drain-leaves-the-last-piece") ? 1 : 0;
  changed_.wait(
      lock, [this, all = written_ + pieces_.size() - left] { return written_ >= all || failure_; });
  throw_failure();
}

Bytes Writer::buffer() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (buffers_.empty()) return {};
  Bytes bytes = std::move(buffers_.back());
  buffers_.pop_back();
  bytes.clear();
  return bytes;
}

void Writer::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return !pieces_.empty() || is_stopping_; });
    if (pieces_.empty() || failure_) return;
    write_first(&lock);
  }
}

void Writer::write_first(std::unique_lock<std::mutex> *lock) {
  const Piece &piece = pieces_.front();
  lock->unlock();
  std::exception_ptr failure;
  try {
    write_piece(piece);
  } catch (...) {
    failure = std::current_exception();
  }
  lock->lock();
  if (!CDB_FAULT("writer-error-swallowed")) failure_ = failure;
  buffers_.push_back(std::move(pieces_.front().bytes));
  pieces_.pop_front();
  ++written_;
  if (!failure_) under_way_.fetch_sub(1, std::memory_order_release);
  changed_.notify_all();
}

// The disk begins early, so that the sync to come has less to wait for.
void Writer::write_piece(const Piece &piece) {
  file_->write(piece.bytes.data(), piece.bytes.size(), piece.offset);
  const uint64_t end = piece.offset + piece.bytes.size();
  written_back_ = std::min(written_back_, piece.offset);
  if (end - written_back_ < kWritebackBytes) return;
  file_->start_writeback(written_back_, end - written_back_);
  written_back_ = end;
}

}  // namespace cdb::coin_log
