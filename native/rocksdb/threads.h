// RocksDB begins threads as it opens a database, and its default options map a cache that nobody
// uses. Where there is too little of either it gives up in the middle, or ends the process: so both
// are tried beforehand.
#pragma once

#include "common/addresses.h"
#include "common/beside.h"
#include "common/failure.h"

#include <sys/resource.h>

#include <atomic>
#include <future>
#include <new>
#include <string>
#include <thread>
#include <vector>

constexpr size_t kPoolThreads = 2;       // for flushes and compactions of all databases, once begun
constexpr size_t kTimerThreads = 1;      // while a database is open
constexpr uint8_t kOpeningThreads = 16;  // that open tables, as many as by RocksDB's own default

// A cache's table, 32 MB (HyperClockCache, since 8.0), and about as much for the opening itself.
constexpr size_t kOpeningBytes = size_t{64} << 20;

// How many threads can be alive at a time beside those that are; at most so many.
inline size_t threads_to_be_had(size_t most) {
  std::promise<void> are_counted;
  const std::shared_future<void> end = are_counted.get_future().share();
  std::vector<std::thread> threads;
  while (threads.size() < most) {
    std::thread thread = cdb::thread_if_any([end] { end.wait(); });
    if (!thread.joinable()) break;
    threads.push_back(std::move(thread));
  }
  are_counted.set_value();
  for (std::thread &thread : threads) thread.join();
  return threads.size();
}

// Then a thread's stack may find no room, whatever was tried before.
inline bool are_addresses_limited() {
  rlimit limit;
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

// For max_file_opening_threads: 1 is whoever opens the database. Throws where there are not even
// those that RocksDB can't do without.
inline int opening_threads() {
  if (!cdb::has_addresses_for(kOpeningBytes)) throw std::bad_alloc();
  static std::atomic<bool> has_pool{false};
  const size_t own = kTimerThreads + (has_pool ? 0 : kPoolThreads);
  const size_t n = threads_to_be_had(own + kOpeningThreads);
  if (n < own)
    throw cdb::Failure(CDB_FAILED, "",
                       "RocksDB needs " + std::to_string(own) + " threads, and the system gives " +
                           std::to_string(n),
                       "allow more of them (ulimit -u) or more memory (ulimit -v)");
  has_pool = true;
  return n < own + kOpeningThreads || are_addresses_limited() ? 1 : int{kOpeningThreads};
}
