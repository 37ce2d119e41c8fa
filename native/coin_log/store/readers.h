// Those who read blocks, or wait for something to read, while others write.
#pragma once

#include "coin_log/log/log.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>

namespace cdb::coin_log {

class Reader;

class Readers {
 public:
  void add(Reader *reader);
  void remove(Reader *reader);
  // The log is about to lose its bytes from offset on: have all readers keep theirs.
  void preserve_from(const Log &log, uint64_t offset);
  // Have them release what they keep.
  void release();

  // Whether somebody waits until what was accepted is verified.
  bool are_waiting() const { return waiting_.load(std::memory_order_relaxed) > 0; }
  // Returns whether somebody writes; then it waits until that one has verified what was accepted,
  // or writes no more, or for so long.
  bool await_verified(std::chrono::milliseconds most);
  void tell_verified();
  void tell_writing(bool is_writing);

 private:
  std::mutex mutex_;
  std::set<Reader *> readers_;
  std::mutex verified_mutex_;
  std::condition_variable verified_;
  uint64_t verifications_ = 0;
  bool is_writing_ = false;
  std::atomic<size_t> waiting_{0};
};

}  // namespace cdb::coin_log
