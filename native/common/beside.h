// Work that is only faster beside the caller's own: where the system has no thread to give, the
// caller does it.
#pragma once

#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

namespace cdb {

// What work() gives. It runs in a thread of its own; where there is none to be had, in whoever asks
// the future for it, which is "deferred" until then.
template <typename Work>
std::future<std::invoke_result_t<Work &>> beside(Work work) {
  const auto shared = std::make_shared<Work>(std::move(work));  // it may hold much
  const auto run = [shared] { return (*shared)(); };
  try {
    return std::async(std::launch::async, run);
  } catch (const std::system_error &) {
    return std::async(std::launch::deferred, run);
  }
}

// A thread that runs body(); none, which is not joinable, where there is none to be had.
template <typename Body>
std::thread thread_if_any(Body body) {
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error &) {
    return {};
  }
}

}  // namespace cdb
