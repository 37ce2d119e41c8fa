// Writes to a file in a thread of its own, in order: what was accepted is copied to the kernel
// while the next blocks are checked. Where there is no thread to be had, write() writes itself.
#pragma once

#include "coin_log/format/file.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

namespace cdb::coin_log {

class Writer {
 public:
  explicit Writer(File *file) : file_(file) {}
  ~Writer();
  Writer(const Writer &) = delete;
  Writer &operator=(const Writer &) = delete;

  // Have bytes written at offset; waits while too much is under way. Throws what an earlier write
  // has failed with, now and ever after.
  void write(Bytes bytes, uint64_t offset);
  // Returns when what was written so far is in the file; throws likewise. Any thread may wait.
  void drain() const;
  // Whether all of it is.
  bool is_idle() const { return under_way_.load(std::memory_order_acquire) == 0; }
  // An empty buffer, perhaps one that has grown already.
  Bytes buffer();

 private:
  struct Piece {
    Bytes bytes;
    uint64_t offset;
  };
  static constexpr size_t kMostPieces = 4;

  void run();
  // The lock is given up while it is written.
  void write_first(std::unique_lock<std::mutex> *lock);
  void write_piece(const Piece &piece);
  void throw_failure() const;

  File *file_;
  uint64_t written_back_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::deque<Piece> pieces_;          // the first one is being written
  uint64_t written_ = 0;              // pieces that are in the file
  std::atomic<size_t> under_way_{0};  // pieces, and one more after a failure
  std::vector<Bytes> buffers_;
  std::exception_ptr failure_;
  bool is_stopping_ = false;
  std::thread thread_;  // runs from the first write on
};

}  // namespace cdb::coin_log
